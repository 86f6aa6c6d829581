// Package groundtruth compares the measures of a test page with the page's own drawing.
//
// The code strip in a frame identifies its picture. The page's report has the content and time of
// each picture. From the two follow the expected values of measures, in another and simpler way. A
// [Page] has a check for each number that can be known like that.
//
// It runs after an analysis, before its results are written. Package session passes its recording,
// and puts the checks into the window's results.
//
// # Lost frames
//
// Measures count the stored frames, and bound the content of lost ones. The truth is about the same
// stored frames. So most checks hold whatever is lost. A check is left out only as far as a loss
// decides it: a picture that no frame can show, or an unreadable copy of the strip. The check's
// note lists omitted parts. A check without remaining parts is not made: it neither agrees nor
// fails.
//
// # Times
//
// A page reports when it was called to draw a picture. The picture was on the screen some unknown
// time after that. A busy browser calls late, and stamps its calls with the time at which they were
// due. So no check assumes that a picture was seen at the page's time, or as late as another one.
package groundtruth
