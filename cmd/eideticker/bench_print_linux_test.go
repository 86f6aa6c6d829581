package main

import (
	"fmt"
	"io"
	"time"

	"github.com/eideticker/eideticker/analyze/terminal"
)

// benchTable is one part of what bench prints.
type benchTable struct {
	heading []string
	rows    [][]string
}

func (r benchResult) tables() []benchTable {
	var ceilings, scenes, reading [][]string
	for _, c := range r.Ceilings {
		ceilings = append(ceilings, []string{c.Name, fmt.Sprintf("%.2f GB/s", c.BytesPerSecond/1e9), c.About})
	}
	for _, s := range r.Scenes {
		scenes = append(scenes, []string{
			s.Scene, countText(s.Frames), secondsText(time.Duration(s.ElapsedNS)),
			secondsText(time.Duration(s.SourceNS)),
			fmt.Sprintf("%.2f GB/s", s.PixelsPerSecond/1e9), fmt.Sprintf("%.2f of %s", s.Share, s.Ceiling),
			bytesText(s.FileBytes),
		})
	}
	for _, s := range r.Reading {
		reading = append(reading, []string{
			s.Scene, millisecondsText(s.RandomP50NS), millisecondsText(s.RandomP99NS),
			fmt.Sprintf("%.0f x real time", s.SequentialRatio), fmt.Sprintf("%.0f frames/s", s.TimelinePerSecond),
		})
	}
	return []benchTable{
		{[]string{"CEILING", ">SPEED", "WHAT"}, ceilings},
		{[]string{"RECORDED", ">FRAMES", ">TOOK", ">SOURCE ALONE", ">NET", ">SHARE", ">FILE"}, scenes},
		{[]string{"READ BACK", ">ANY FRAME, P50", ">P99", ">IN TURN", ">CHANGES ONLY, COLD"}, reading},
		{[]string{"SCENE", "ENCODER", ">TOOK", ">NET OF READER", ">SIZE", ">NET RATIO", ">SIZE RATIO"},
			peerRows(r.Peers)},
		{[]string{"IN REAL TIME", ">AT ONCE", ">LASTED", ">FRAMES", ">LOST", ">CPU S/S", ">FILE", ">RING, MOST",
			">MEMORY BUT RING"}, pacedRows(r.Paced)},
		{[]string{"ANALYSED", "MEASURES", ">FRAMES", ">TOOK", ">FRAMES/S", ">X REAL TIME", "WANTED", ">TO PIXELS",
			">HEAP, MOST"}, analysisRows(r.Analyses)},
		{[]string{"FRAMERATE OF", ">FRAMES", "BESIDE", ">TOOK", ">OURS", ">RATIO", "WANTED"}, againstRows(r.Against)},
	}
}

func (r benchResult) print(w io.Writer) error {
	printed := false
	for _, t := range r.tables() {
		if len(t.rows) == 0 {
			continue
		}
		if printed {
			if _, err := fmt.Fprintln(w); err != nil {
				return err
			}
		}
		if err := terminal.Table(w, t.heading, t.rows); err != nil {
			return err
		}
		printed = true
	}
	for _, n := range append(refusals(r.Analyses), r.Notes...) {
		if _, err := fmt.Fprintln(w, "note: "+n); err != nil {
			return err
		}
	}
	return nil
}

func millisecondsText(ns int64) string { return fmt.Sprintf("%.1f ms", float64(ns)/1e6) }
