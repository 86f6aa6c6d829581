// Package compare says whether runs differ, by how much, and how sure that is: it reads two sets of
// runs, pairs what both have measured, and has package stats judge each pair.
//
// Place in the flow: between the run folders that package analysis writes and those who ask for a
// verdict (compare, run, the daemon).
//
//  1. [Load] reads the results of a set of runs. Series and frame times are not kept, so that sets
//     of hundreds of runs fit into memory.
//  2. [Compare] says which windows belong together, pairs values, judges them, and notes what is
//     not alike in the sets.
//  3. [Folder.Write] draws what can be seen: the difference of the heat maps, the first frames that
//     differ, both runs in one video.
//  4. A [Comparison] is told as JSON, as JUnit XML and as Perfherder's artifact. Tables for people
//     are made by who prints them.
//
// A comparison changes nothing in the sets that it is of: they may be compared with others.
package compare
