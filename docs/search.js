// The search takes a minus before a word for "without it"; in front of a flag of the command line it is part of the name.
document.addEventListener("keyup", (event) => {
  const field = event.target;
  if (field.matches && field.matches("input.md-search__input")) {
    const plain = field.value.replace(/(^|\s)-+(?=\w)/g, "$1");
    if (plain !== field.value) field.value = plain;
  }
}, true);
