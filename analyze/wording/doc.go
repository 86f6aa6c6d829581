// Package wording puts numbers, counts, lists and errors into the words in which the program tells
// them to people.
//
// Place in the flow: below the commands and the packages whose sentences they print. It prints
// nothing; what people read on a terminal is cleaned by who prints it.
package wording
