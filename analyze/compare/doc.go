// Package compare reports whether runs differ, by how much, and with which confidence. It reads two
// sets of runs, pairs their common measures, and lets package stats judge each pair.
//
// It reads run folders, and serves compare, run and the daemon.
//
//  1. [Load] reads the results of a set of runs. It drops series and frame times, so hundreds of
//     runs fit into memory.
//  2. [Compare] matches windows, pairs values, judges them, and notes differences between the sets.
//  3. [Folder.Write] draws the evidence, such as the difference of the heat maps and the first
//     frames that differ. It writes compare.html, which shows all of it.
//  4. A [Comparison] is written as JSON, as JUnit XML and as Perfherder's artifact. Callers print
//     tables for people.
//  5. [OpenSet] reads a folder of runs or variants. [SetFolder.Page] returns its page.
//
// A comparison does not change its sets, so they may be compared with others.
package compare
