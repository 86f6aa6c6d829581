// Package device is what a test runs on: devices as files describe them ([Load]), and what starts,
// ends, feeds and judges them. Where there is no device of its own, that is a virtual X display and
// a browser that fills it. Its window has bars where a test types addresses into them, and it
// listens for WebDriver BiDi where input comes that way ([Browser.Endpoint]).
//
// A file of devices is YAML, read strictly; devices.schema.json says the same to editors. Browsers
// of Android devices start by intents ([Android]), which is also asked whether it is fit for a run;
// where nothing starts browsers, one that runs is typed into ([Typed]). [Power] switches a device
// on and off.
//
// Place in the flow: the program starts a [Display], lets a source record it, and starts a
// [Browser] on it with the address of the first page. A browser may also be started on a display
// that is there already.
//
// # Untrusted tests
//
// A browser that plays an untrusted test cannot read this machine's files (Untrusted). It cannot
// reach this machine's services, except the run's own pages ([EgressPolicy]).
//
// # What is left behind
//
// Nothing. Each program runs in a process group of its own and ends with its context, with Close,
// or, through the kernel's parent death signal, with this process. Browsers start helpers that
// leave the group; all of them inherit a mark in their environment, by which they are found and
// ended one by one, never by name. A browser gets a new profile folder, which is also its home and
// is removed when it ends; folders whose owner was killed are removed when the next browser starts.
//
// Displays take connections from this user's processes only, and none over the network.
//
// A Display and a Browser are safe for use from several goroutines. Each has one goroutine, which
// ends with the program it stands for; a Browser with an EgressPolicy has more, for its
// connections, which end before it is done.
package device
