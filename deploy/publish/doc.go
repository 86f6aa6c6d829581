// Package publish writes a public, static site of trends: an overview of tests and products, a page
// for each value, its confirmed changes, and films.
//
// The types in fields.go are the field list: a page has nothing else. They leave out hosts, owners,
// paths, logs, labels, schedules and names of runs. Texts are escaped.
//
// All files but index.html have their hash in the name, in the folder [Folder]. [Write] replaces
// index.html last. So an interrupted call leaves the old site whole. Then it removes files that the
// new site does not need.
package publish
