// Package sources lists the sources that this machine can record: capture devices, displays,
// scenes and kinds of files. Devices and displays have their certificates.
package sources

import (
	"fmt"
	"strings"
	"time"

	"github.com/eideticker/eideticker/capture/synth"
	"github.com/eideticker/eideticker/capture/v4l2"
	"github.com/eideticker/eideticker/capture/x11"
	"github.com/eideticker/eideticker/codec/recorder"
	"github.com/eideticker/eideticker/controller/certify"
)

// Sources has the JSON of eideticker sources --json. Its lists are never null.
type Sources struct {
	Devices  []Device  `json:"devices"`
	Displays []Display `json:"displays"`
	Scenes   []Scene   `json:"scenes"`
	Kinds    []Kind    `json:"kinds"`
}

// Display is an X display.
type Display struct {
	Source    string `json:"source"`
	Server    string `json:"server"` // vendor and release
	Width     int    `json:"width_px"`
	Height    int    `json:"height_px"`
	DepthBits int    `json:"depth_bits"`
	Error     string `json:"error,omitempty"` // why it cannot be recorded

	Certificates []Certificate `json:"certificates"`
}

// Scene is a scene of capture/synth.
type Scene struct {
	Source string `json:"source"`
	About  string `json:"about"`
}

// Kind is a kind of source.
type Kind struct {
	Scheme string `json:"scheme"`
	Form   string `json:"form"`
	About  string `json:"about"`
}

// Certificate is a certificate of a source.
type Certificate struct {
	Mode    certify.Recorded `json:"mode"`
	Verdict certify.Verdict  `json:"verdict"`
	Date    time.Time        `json:"date"`
	File    string           `json:"file"`
}

// Find asks the devices and displays of this machine. With an error the list has the sources that
// were found.
func Find() (Sources, error) {
	store, err := certify.DefaultStore()
	if err != nil {
		store = certify.Store{} // an unreadable store has no certificates
	}
	all := Sources{Devices: []Device{}, Displays: []Display{}}
	devices, err := v4l2.List()
	for _, d := range devices {
		found := newDevice(d)
		found.Certificates = certificates(store,
			certify.Device{Kind: "v4l2", Driver: d.Driver, Card: d.Card, Bus: d.Bus})
		all.Devices = append(all.Devices, found)
	}
	for _, d := range x11.Displays() {
		all.Displays = append(all.Displays, Display{
			Source: "x11:" + d.Name, Server: d.Server, Width: d.Width, Height: d.Height, DepthBits: d.Depth,
			Error:        textOf(d.Err),
			Certificates: certificates(store, certify.Device{Kind: "x11", Path: d.Name, Driver: d.Server}),
		})
	}
	for _, s := range synth.Scenes() {
		all.Scenes = append(all.Scenes, Scene{"synth:" + s.Name, s.About})
	}
	for _, s := range recorder.Schemes() {
		all.Kinds = append(all.Kinds, Kind{s.Name, s.Form, s.About})
	}
	return all, err
}

func certificates(store certify.Store, d certify.Device) []Certificate {
	all := []Certificate{}
	filed, err := store.Of(d)
	if err != nil {
		return all
	}
	for _, f := range filed {
		all = append(all, Certificate{f.Mode, f.Verdict, f.Date, f.Path})
	}
	return all
}

// textOf returns the text of an error, or "".
func textOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// Lines describes the display for people.
func (d Display) Lines() []string {
	if d.Error != "" {
		return []string{"X display that cannot be recorded: " + d.Error}
	}
	first := fmt.Sprintf("X display, %dx%d, %d bits a pixel", d.Width, d.Height, d.DepthBits)
	return append([]string{first}, certificateLines(d.Certificates)...)
}

func certificateLines(all []Certificate) (lines []string) {
	if len(all) == 0 {
		return []string{"not certified"}
	}
	for _, c := range all {
		lines = append(lines, fmt.Sprintf("certificate: %v %s on %s", c.Mode, c.Verdict.Text(),
			c.Date.Local().Format(time.DateOnly)))
	}
	return lines
}

// some joins names; of many it lists the first.
func some(names []string, separator string) string {
	const most = 8
	if len(names) > most+1 {
		names = append(append([]string{}, names[:most]...), fmt.Sprintf("and %d more", len(names)-most))
	}
	return strings.Join(names, separator)
}
