// Package browsertest loads pages in a real Chromium for tests. It collects messages of the
// console, exceptions and requests to other hosts, which tests forbid.
//
// Each browser has a home of its own that is removed with it.
package browsertest
