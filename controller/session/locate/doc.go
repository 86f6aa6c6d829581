// Package locate finds elements of a page in a browser by their selectors.
//
// A browser that was started with Inspect has a side channel: Chromium a pipe to its developer
// tools, Firefox WebDriver BiDi. [Find] waits until the page has loaded and its elements rest. Then
// it returns their places, as pixels of the page's window. It does not change the page.
package locate
