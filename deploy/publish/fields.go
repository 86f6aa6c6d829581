package publish

import "github.com/eideticker/eideticker/deploy/api"

// page is the data of a page.
type page struct {
	Kind    string   `json:"kind"`   // overview, value
	Home    string   `json:"home"`   // address of the overview
	Folder  string   `json:"folder"` // of the other files
	Values  []value  `json:"values"`
	Changes []change `json:"changes"`
}

// value is one value of a test on a kind of device, with all products.
type value struct {
	Address  string    `json:"address,omitempty"` // of its page
	Test     string    `json:"test"`
	Window   string    `json:"window,omitempty"`
	Measure  string    `json:"measure"`
	Value    string    `json:"value"`
	Unit     string    `json:"unit"`
	Better   string    `json:"better"`
	Device   string    `json:"device"`
	Network  string    `json:"network,omitempty"`
	Products []product `json:"products"` // the subject first
	Lead     *lead     `json:"lead,omitempty"`
}

// product is a browser with its points.
type product struct {
	Name   string           `json:"name"`
	Latest *point           `json:"latest"`
	Text   string           `json:"text"` // of the latest point, with its unit
	Level  int              `json:"level"`
	Points []point          `json:"points"`
	Tiles  []api.SeriesTile `json:"tiles"`
	Film   *film            `json:"film,omitempty"`

	recent []point
}

type point struct {
	Seq      int64   `json:"seq"`
	Build    string  `json:"build"`
	Day      string  `json:"day"`
	Runs     int     `json:"runs"`
	Median   float64 `json:"median"`
	Low      float64 `json:"low"`
	High     float64 `json:"high"`
	Interval bool    `json:"interval"`
}

// lead is the distance of the best product to the next one. Their intervals do not overlap.
type lead struct {
	Product string  `json:"product"` // "": the intervals overlap
	Next    string  `json:"next"`
	By      float64 `json:"by"`    // as a fraction of the next one
	Since   string  `json:"since"` // first build from which on its median was the best
	Day     string  `json:"day"`
	Longer  bool    `json:"longer"` // or earlier
}

// change is a confirmed change.
type change struct {
	Value     value   `json:"value"` // without points
	Product   string  `json:"product"`
	FirstSeq  int64   `json:"first_seq"`
	LastSeq   int64   `json:"last_seq"`
	From      string  `json:"from"` // build
	To        string  `json:"to"`
	Day       string  `json:"day"`
	Shift     float64 `json:"shift"`
	Low       float64 `json:"low"`
	High      float64 `json:"high"`
	Relative  bool    `json:"relative"`
	Direction string  `json:"direction"`
	Before    *film   `json:"before,omitempty"`
	After     *film   `json:"after,omitempty"`
}

// film is that of the run closest to a median, among runs with a video.
type film struct {
	Build string `json:"build"`
	Video string `json:"video,omitempty"`
	Strip string `json:"strip,omitempty"` // a filmstrip
}
