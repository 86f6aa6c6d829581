// Package runfolder takes a recording to its results. It finds the windows, lets package analyze
// measure them, and writes a run folder: results.json, page, pictures and video.
//
// It is used by the commands that analyse a recording (analyze, view) or make one (package
// session). The measures themselves use no files. This package opens, selects, names and writes.
package runfolder
