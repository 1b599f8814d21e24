// Enumerations that know their names, so that Python has them from here.
//
//   MEMETIK_ENUM(Loss, square, huber)   // enum class Loss : int32_t { square, huber }, in Python Loss.square
#pragma once

#include <cstdint>

#define MEMETIK_ENUM(Name, ...)                           \
  enum class Name : int32_t { __VA_ARGS__ };              \
  constexpr const char *enum_name(Name) { return #Name; } \
  constexpr const char *enum_names(Name) { return #__VA_ARGS__; }
