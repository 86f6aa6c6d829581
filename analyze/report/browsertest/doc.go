// Package browsertest shows pages to a real Chromium in tests, and notes what must not happen
// there: messages on the console, exceptions, requests to elsewhere.
//
// Each browser has a home of its own that is removed with it.
package browsertest
