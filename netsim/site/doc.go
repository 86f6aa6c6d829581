// Package site serves our own test pages: small, embedded, each with a manifest of its truth.
//
// A page stands green, plays its content, and stands red, as the sync markers of the
// measures want it; while it plays, the code strip in it says which of its frames is shown. When it
// is done it reports to the site what it drew and when, and gets the next page of the
// playlist in return, so that one browser plays a whole run by itself.
//
// Place in the flow: the program makes a [Site] for a run, serves it ([Listen]), gives the browser
// [Server.URL], and takes one [Report] per page from [Site.Next]. Reports carry times on the rig's clock: before the
// green, a page asks the site for the time, and each answer bounds the offset between the two clocks.
//
// The geometry of the strip belongs to whoever decodes it and comes in as a JSON value
// ([Options.Strip]) that is handed to the pages as it is.
//
// # What is trusted
//
// Nothing that comes from the browser. Requests are matched against a fixed table of names (there
// is no path to traverse), bodies are bounded, reports are checked field by field, and count only with the
// run's nonce, once, and in the order of the playlist. What a report *claims* stays a claim: it is
// kept beside what was measured and never replaces it.
//
// A Site is safe for use from several goroutines and starts none.
package site
