package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/eideticker/eideticker/controller/certify"
)

// certificateJSON is a certificate of a source, in sources --json.
type certificateJSON struct {
	Mode    certify.Recorded `json:"mode"`
	Verdict certify.Verdict  `json:"verdict"`
	Date    time.Time        `json:"date"`
	File    string           `json:"file"`
}

// addCertificates fills in which certificates devices and displays have. A store that cannot be
// read has none: what is there to be recorded is listed all the same.
func (s *sourcesJSON) addCertificates() {
	store, err := certify.DefaultStore()
	if err != nil {
		store = certify.Store{}
	}
	for i := range s.Devices {
		d := &s.Devices[i]
		d.Certificates = certificatesOf(store, certify.Device{Kind: "v4l2", Driver: d.Driver, Card: d.Card, Bus: d.Bus})
	}
	for i := range s.Displays {
		d := &s.Displays[i]
		d.Certificates = certificatesOf(store, certify.Device{Kind: "x11", Path: strings.TrimPrefix(d.Source, "x11:"),
			Driver: d.Server})
	}
}

func certificatesOf(store certify.Store, d certify.Device) []certificateJSON {
	all := []certificateJSON{} // never null
	filed, err := store.Of(d)
	if err != nil {
		return all
	}
	for _, f := range filed {
		all = append(all, certificateJSON{f.Mode, f.Verdict, f.Date, f.Path})
	}
	return all
}

// certificateRows tells them in a line each.
func certificateRows(all []certificateJSON) [][]string {
	if len(all) == 0 {
		return [][]string{{"", "not certified"}}
	}
	var rows [][]string
	for _, c := range all {
		rows = append(rows, []string{"", fmt.Sprintf("certificate: %v %s on %s", c.Mode, verdictText(c.Verdict),
			c.Date.Local().Format("2006-01-02"))})
	}
	return rows
}
