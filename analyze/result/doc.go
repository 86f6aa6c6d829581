// Package result is the data model of results.json: the measured values of one recording.
//
// Place in the flow: after package analyze, before all reports. RESULTS.md documents every field.
// [Decode] and [Read] treat a file as hostile. [Write] rejects everything that they would reject.
// Results of another schema version return an [ErrVersion].
//
// Invariants: decoded results are valid and have no nil lists. Writing them again yields the same
// values. They hold no path of the machine that made them: links are names within the run folder.
// Text fields are derived from the values, also when results of an older program are read.
package result
