// Package runfolder takes a recording to its results: it finds what is to be measured, has package
// analyze measure it, and writes results.json, pictures, video and page into a run folder.
//
// Place in the flow: between a recording in a file and the commands that analyse one (analyze,
// view) or make one (package session). The measures themselves know no file; here is what opens,
// chooses, names and writes.
package runfolder
