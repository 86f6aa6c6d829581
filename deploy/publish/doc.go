// Package publish writes a public, static site of trends. It has an overview of tests and products,
// and a page for each value. The pages show confirmed changes with films.
//
// The types in fields.go are the field list: a page has nothing else. Hosts, owners and paths are
// not in it. Neither are logs, labels and names of runs. Texts are escaped.
//
// All files but index.html have their hash in the name, in the folder "files". [Write] replaces
// index.html last. So an interrupted call leaves the old site whole. Then it removes files that the
// new site does not need.
package publish
