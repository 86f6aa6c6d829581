package serve

import (
	_ "embed"
	"html/template"
	"net/http"
)

// TrustPage is the path of the page that tells people how to trust the authority.
const TrustPage = "/eideticker-authority.html"

//go:embed trust.html
var trustHTML string

// Serve returns a handler that serves the certificate, and a page about it, beside other pages. A
// nil authority serves only the others.
func (a *Authority) Serve(pages http.Handler) http.Handler {
	if a == nil {
		return pages
	}
	page := template.Must(template.New("").Parse(trustHTML))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/" + AuthorityFile:
			w.Header().Set("Content-Type", "application/x-x509-ca-cert")
			_, _ = w.Write(a.PEM()) // a client may have left
		case TrustPage:
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_ = page.Execute(w, struct{ File, Fingerprint string }{AuthorityFile, a.Fingerprint()})
		default:
			pages.ServeHTTP(w, r)
		}
	})
}
