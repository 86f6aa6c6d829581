// Package scripts states what the scripts of a run's pages did, on the clock of its frames.
//
// A run folder has two files of it. script.json lists the programs that were served. script.log has
// the records of the pages, which are claims. SCRIPT.md of netsim/instrument specifies them.
package scripts
