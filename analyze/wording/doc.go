// Package wording writes numbers, counts, lists and errors as text for people.
//
// Place in the flow: below the commands and the packages whose sentences they print. It prints
// nothing; what people read on a terminal is cleaned by who prints it.
package wording
