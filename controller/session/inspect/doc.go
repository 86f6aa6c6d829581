// Package inspect has the side channel to the page of a browser that was started with Inspect:
// Chromium a pipe to its developer tools, Firefox WebDriver BiDi.
package inspect
