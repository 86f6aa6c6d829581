// Package webdriver gives input to a browser through WebDriver BiDi, the protocol by which browsers
// are tested (https://www.w3.org/TR/webdriver-bidi/).
//
// It is the fallback where nothing better reaches the device: the browser makes events of what it
// is told, past the operating system's queues, window manager and input methods. So what is
// measured lacks a part of the way that a user's hand goes, and Info says so ([input.Page]).
//
// # Place in the flow
//
// The device starts a browser that listens: Firefox with --remote-debugging-port, whose endpoint is
// ws://HOST:PORT/session, or Chromium through chromedriver, which gives the address as
// "webSocketUrl". [Open] makes a session there, or joins the one that the address names, and drives
// the first page.
//
// # When
//
// The browser answers a command when its events were dispatched. The interval is from before the
// command was written until the answer was read.
//
// Places are pixels of the page, not of the screen: they agree where the page fills the screen at
// its own scale.
package webdriver
