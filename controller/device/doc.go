// Package device has the devices of tests: their descriptions in files ([Load]), and the code that
// starts, ends, feeds and checks them. A test without a configured device uses a virtual X display
// and a browser that fills it.
//
// A file of devices is YAML, read strictly. devices.schema.json describes it for editors. Browsers
// of Android devices start by intents ([Android]), which also checks the device's health. If
// nothing starts browsers, addresses are typed into a running one ([Typed]). [Power] switches a
// device on and off.
//
// The program starts a [Display] and lets a source record it. It starts a [Browser] on it at the
// first page. A browser may also be started on an existing display.
//
// # Untrusted tests
//
// A browser that plays an untrusted test cannot read this machine's files (Untrusted). It cannot
// reach this machine's services, except the run's own pages ([EgressPolicy]).
//
// # Cleaning up
//
// Each program runs in a process group of its own. It ends with its context, with Close, or with
// this process, through the kernel's parent death signal. Browsers start helpers that leave the
// group. All of them inherit a mark in their environment. They are found and ended by this mark,
// never by name. A browser gets a new profile folder, which is also its home and is removed when it
// ends. Folders of killed owners are removed when the next browser starts.
//
// A browser's window has bars if a test types addresses into them. The browser listens for
// WebDriver BiDi if input comes that way ([Browser.Endpoint]).
//
// Displays take connections from this user's processes only, and none over the network.
//
// A Display and a Browser are safe for use from several goroutines. Each has one goroutine, which
// ends with its program. A Browser with an EgressPolicy has more, for its connections, which end
// before it is done.
package device
