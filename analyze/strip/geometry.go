package strip

import (
	"encoding/json"
	"errors"
	"fmt"
	"image"
)

// Constants of the geometry; see the package documentation.
const (
	Copies = 5

	minCell       = 2
	maxCell       = 8
	widthPerCell  = 100
	minWidth      = Cells * minCell
	minHeightCell = Copies
)

// errTooSmall is wrapped where a region cannot hold the strip.
var errTooSmall = errors.New("region too small for the code strip")

// Geometry has the places of the copies in a region.
type Geometry struct {
	Cell int         // side of a cell in pixels
	Left int         // x of the first cell
	Tops [Copies]int // y of each copy's first row
}

// NewGeometry places the strip in a region, given in pixels of the frame.
func NewGeometry(region image.Rectangle) (Geometry, error) {
	w, h := region.Dx(), region.Dy()
	g := Geometry{Cell: min(maxCell, max(minCell, w/widthPerCell)), Left: region.Min.X}
	if w < minWidth || h < minHeightCell*g.Cell {
		return Geometry{}, fmt.Errorf("%w: it is %dx%d, want at least %dx%d", errTooSmall, w, h, minWidth,
			minHeightCell*minCell)
	}
	for k := range g.Tops {
		g.Tops[k] = region.Min.Y + k*(h-g.Cell)/(Copies-1)
	}
	return g, nil
}

// lines are the lines of a copy that are tried, in this order.
func (g *Geometry) lines(top int) [3]int {
	return [3]int{top + g.Cell/2, top + g.Cell/4, top + g.Cell*3/4}
}

// Bounds returns the rectangles that the strip covers, which no measure may look at.
func (g Geometry) Bounds() [Copies]image.Rectangle {
	var r [Copies]image.Rectangle
	for k, top := range g.Tops {
		r[k] = image.Rect(g.Left, top, g.Left+Cells*g.Cell, top+g.Cell)
	}
	return r
}

// spec is the geometry and the code as pages read them.
type spec struct {
	Cells        int    `json:"cells"`
	Copies       int    `json:"copies"`
	MinCell      int    `json:"min_cell"`
	MaxCell      int    `json:"max_cell"`
	WidthPerCell int    `json:"width_per_cell"`
	Lead         string `json:"lead"` // as zeros and ones
	Tail         string `json:"tail"`
	IDBits       int    `json:"id_bits"`
	ClockBits    int    `json:"clock_bits"`
	FreeBits     int    `json:"free_bits"`
	CRCBits      int    `json:"crc_bits"`
	CRCPoly      int    `json:"crc_poly"`
	CRCStart     int    `json:"crc_start"`
}

// Spec returns the numbers of the package documentation as a JSON object, so that a page need not
// repeat them.
func Spec() json.RawMessage {
	b, err := json.Marshal(spec{
		Cells: Cells, Copies: Copies, MinCell: minCell, MaxCell: maxCell, WidthPerCell: widthPerCell,
		Lead: fmt.Sprintf("%08b", lead), Tail: fmt.Sprintf("%08b", tail),
		IDBits: idBits, ClockBits: clockBits, FreeBits: freeBits, CRCBits: crcBits,
		CRCPoly: 0x1021, CRCStart: 0xffff,
	})
	if err != nil {
		panic(err) // a struct of numbers and strings cannot fail
	}
	return b
}
