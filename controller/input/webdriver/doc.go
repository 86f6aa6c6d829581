// Package webdriver gives input to a browser through WebDriver BiDi, the protocol for testing
// browsers (https://www.w3.org/TR/webdriver-bidi/).
//
// It is the fallback if no better way reaches the device. The browser makes events of the commands,
// past the operating system's queues, window manager and input methods. So results lack a part of a
// real hand's way, and Info reports that ([input.Page]).
//
// The device starts a browser that listens. Firefox with --remote-debugging-port has its endpoint
// at ws://HOST:PORT/session. Chromium runs through chromedriver, which returns the address as
// "webSocketUrl". [Open] makes a session there, or joins the one that the address names, and drives
// the first page.
//
// # Times
//
// The browser answers a command when its events were dispatched. The interval is from before the
// command was written until the answer was read.
//
// Places are pixels of the page, not of the screen. They agree if the page fills the screen at its
// own scale.
package webdriver
