# cmake -DADDON=<tenure.node> -DFOLDER=<folder> -DDOCUMENTS=<folder> -P npm.cmake
# The native half of the npm package: the addon, stripped, and beside it the libraries it needs.
include("${CMAKE_CURRENT_LIST_DIR}/libraries.cmake")

bring_libraries("${FOLDER}" "${DOCUMENTS}" package "${ADDON}")
file(COPY_FILE "${CMAKE_CURRENT_LIST_DIR}/copyright" "${DOCUMENTS}/tenure.copyright")

get_filename_component(name "${ADDON}" NAME)
run(strip --strip-unneeded -o "${FOLDER}/${name}" "${ADDON}")
run(patchelf --set-rpath "$ORIGIN" "${FOLDER}/${name}")
