package device

import (
	"fmt"
	"net/url"
)

// checkURL refuses what a browser would take for an option or a search.
func checkURL(s string) error {
	u, err := url.Parse(s)
	if err != nil {
		return fmt.Errorf("start browser: %w", err)
	}
	switch u.Scheme {
	case "http", "https", "file", "data", "about":
		return nil
	}
	return fmt.Errorf("start browser: %q is not an http, https, file, data or about address", s)
}
