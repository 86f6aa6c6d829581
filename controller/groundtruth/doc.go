// Package groundtruth holds what was measured of a test page against what the page drew.
//
// Which picture a frame shows is read from the code strip in it; what the page drew in that
// picture, and when, stands in the page's own report. From the two follows, by another and plainer
// way than the measures go, what a measure should say. A [Page] has a check for each number that
// can be known like that.
//
// Place in the flow: behind an analysis, before its results are written. Package session gives what
// it has recorded, and puts the checks into the window's results.
//
// # What frames that are lost leave open
//
// Measures count what stored frames show, and bound what lost ones may have shown; the truth is
// about the same stored frames. So most checks hold whatever is lost, and a check is left out only
// as far as what is missing decides it: a picture that nobody can have seen, a copy of the strip
// that cannot be read. What is left out is said in the check's note, and a check of which nothing
// is left is not made: it neither agrees nor fails.
//
// # What is known of times
//
// A page says when it was called to draw a picture: the picture was on the screen after that. How
// long after, nobody says. A browser that is busy calls late, and stamps its calls with the time at
// which they were due. So nothing here takes a picture for seen at the time that its page names,
// nor one for as late as another was.
package groundtruth
