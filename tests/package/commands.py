import subprocess


def output(*command, **options):
    """What a command prints; that it fails is an error with all that it said."""
    done = subprocess.run([str(word) for word in command], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, **options)
    if done.returncode != 0:
        raise AssertionError(
            f"{command} exited with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout
