#pragma once

namespace tenure::detail {

// A list of things that hold their own links: T needs `T* previous` and `T* next`. It owns none of
// them.
template <class T>
struct IntrusiveList {
  T* front = nullptr;
  T* back = nullptr;

  bool empty() const noexcept { return front == nullptr; }

  void push_front(T& item) noexcept {
    item.previous = nullptr;
    item.next = front;
    (front != nullptr ? front->previous : back) = &item;
    front = &item;
  }

  void remove(T& item) noexcept {
    (item.previous != nullptr ? item.previous->next : front) = item.next;
    (item.next != nullptr ? item.next->previous : back) = item.previous;
  }
};

}  // namespace tenure::detail
