// Package vitals reads a page's claims about itself: web vitals, tasks, timings, errors and
// requests. [Script] collects them in the page. [Read] takes its answer. A page may answer
// anything, so all is bounded.
//
// Claims are not measurements. [Claims.See] compares one of them with the pixels: the largest
// contentful paint with the frames in which the element's area changed.
package vitals
