package main

import (
	"fmt"
	"io"

	"github.com/eideticker/eideticker/capture/synth"
	"github.com/eideticker/eideticker/capture/x11"
	"github.com/eideticker/eideticker/codec/recorder"
)

type sourcesCmd struct {
	JSON bool `help:"Print one JSON object."`
}

func (sourcesCmd) Help() string {
	return `Example:

  eideticker sources --json`
}

// sourcesJSON is what sources --json prints.
type sourcesJSON struct {
	Devices  []deviceJSON  `json:"devices"`
	Displays []displayJSON `json:"displays"`
	Scenes   []sceneJSON   `json:"scenes"`
	Kinds    []kindJSON    `json:"kinds"`
}

type displayJSON struct {
	Source    string `json:"source"`
	Server    string `json:"server"` // vendor and release
	Width     int    `json:"width_px"`
	Height    int    `json:"height_px"`
	DepthBits int    `json:"depth_bits"`
	Error     string `json:"error,omitempty"` // why it cannot be recorded

	Certificates []certificateJSON `json:"certificates"`
}

type sceneJSON struct {
	Source string `json:"source"`
	About  string `json:"about"`
}

type kindJSON struct {
	Scheme string `json:"scheme"`
	Form   string `json:"form"`
	About  string `json:"about"`
}

func (c sourcesCmd) Run(e *env) error {
	list, err := findSources()
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSON(e.out, list)
	}
	return list.print(e.out, columns(e.out))
}

func findSources() (sourcesJSON, error) {
	devices, err := findDevices()
	all := sourcesJSON{Devices: devices, Displays: []displayJSON{}}
	for _, d := range x11.Displays() {
		j := displayJSON{Source: "x11:" + d.Name, Server: d.Server, Width: d.Width, Height: d.Height,
			DepthBits: d.Depth}
		if d.Err != nil {
			j.Error = d.Err.Error()
		}
		all.Displays = append(all.Displays, j)
	}
	for _, s := range synth.Scenes() {
		all.Scenes = append(all.Scenes, sceneJSON{"synth:" + s.Name, s.About})
	}
	for _, s := range recorder.Schemes() {
		all.Kinds = append(all.Kinds, kindJSON{s.Name, s.Form, s.About})
	}
	all.addCertificates()
	return all, err
}

func (s sourcesJSON) print(w io.Writer, width int) error {
	var rows [][]string
	for _, d := range s.Devices {
		rows = append(rows, d.rows()...)
		rows = append(rows, certificateRows(d.Certificates)...)
	}
	if len(s.Devices) == 0 {
		rows = append(rows, []string{"(no device)", "no capture device found"})
	}
	for _, d := range s.Displays {
		if d.Error != "" {
			rows = append(rows, []string{d.Source, "X display that cannot be recorded: " + d.Error})
			continue
		}
		rows = append(rows, []string{d.Source, fmt.Sprintf("X display, %dx%d, %d bits a pixel", d.Width, d.Height,
			d.DepthBits)})
		rows = append(rows, certificateRows(d.Certificates)...)
	}
	if len(s.Displays) == 0 {
		rows = append(rows, []string{"(no display)", "no X display found; Xvfb :0 starts one"})
	}
	for _, scene := range s.Scenes {
		rows = append(rows, []string{scene.Source, scene.About})
	}
	if err := printWrapped(w, []string{"SOURCE", "WHAT IT IS"}, rows, width); err != nil {
		return err
	}
	if _, err := fmt.Fprintln(w); err != nil {
		return err
	}
	rows = nil
	for _, k := range s.Kinds {
		rows = append(rows, []string{k.Form, k.About})
	}
	return printWrapped(w, []string{"FORM", "WHAT IT IS"}, rows, width)
}
