// Package report keeps what an analysis found, and shows it: results.json for programs, report.html
// for people.
//
// Place in the flow: last. It takes results that package analyze has made, and links to files of
// the run folder that package render has made; it measures nothing and decodes no frame.
//
// [Results] is the content of results.json; RESULTS.md documents every field. A file is read with
// [Decode] or [Read], which take it for hostile, and written with [Write], which refuses what they
// would refuse. Results of another version of the schema are an [ErrVersion].
//
// Invariants: what Decode returns is valid, its lists are never nil, and writing it again yields
// the same values. Results hold no path of the machine that they were made on: links are names
// within the run folder.
package report
