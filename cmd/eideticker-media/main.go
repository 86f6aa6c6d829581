// Command eideticker-media encodes and decodes video for eideticker, which starts it.
//
// It links FFmpeg, so that eideticker does not. It is not for people: package
// capture/video/media describes what the two exchange.
package main

import (
	"os"

	"github.com/eideticker/eideticker/analyze/render/encode"
	"github.com/eideticker/eideticker/capture/video/decode"
	"github.com/eideticker/eideticker/capture/video/media"
)

func main() {
	os.Exit(media.Serve(map[string]media.Server{media.Decode: decode.Serve, media.Encode: encode.Serve}))
}
