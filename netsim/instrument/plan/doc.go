// Package plan selects the functions of a page that its next load measures.
//
// A plan names functions by the content hash of their program and their offset. So it outlives a
// load. Drill-down measures calls that begin a task, and later the callees of slow functions. The
// calls of a slow function last longer than 5 ms, in a one-sided sign test at 5 %. Holm's method
// corrects for the number of tested functions. Fast functions are not measured again.
//
// A distributed test measures each function in a random part of the loads. Estimates are weighted
// by the inverse of that part.
package plan
