// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"bytes"
	"cmp"
	"context"
	"image"
	"image/color"
	"image/png"
	"maps"
	"slices"
)

// Look is how a page is shown.
type Look struct {
	Width, Height int
	Dark          bool
	// Scale is the number of pixels of a picture for a pixel of the page; 1 if 0.
	Scale float64
}

// Show shows the page in a look. Animations are off.
func (p *Page) Show(ctx context.Context, l Look) error {
	theme := "light"
	if l.Dark {
		theme = "dark"
	}
	err := p.call(ctx, "Emulation.setEmulatedMedia", values{"features": []values{
		{"name": "prefers-color-scheme", "value": theme}, {"name": "prefers-reduced-motion", "value": "reduce"},
	}}, nil)
	if err != nil {
		return err
	}
	return p.call(ctx, "Emulation.setDeviceMetricsOverride", values{
		"width": l.Width, "height": l.Height, "deviceScaleFactor": cmp.Or(l.Scale, 1), "mobile": false,
	}, nil)
}

// WithoutScript switches the scripts of pages off that are opened afterwards.
func (p *Page) WithoutScript(ctx context.Context) error {
	return p.call(ctx, "Emulation.setScriptExecutionDisabled", values{"value": true}, nil)
}

// Authorize adds a token to all requests of the page, as a proxy that authenticates users does.
func (p *Page) Authorize(ctx context.Context, token string) error {
	return p.call(ctx, "Network.setExtraHTTPHeaders", values{"headers": values{"Authorization": "Bearer " + token}}, nil)
}

// Picture returns a picture of the visible part of the page as PNG. It has a palette, so that it is
// small.
func (p *Page) Picture(ctx context.Context) ([]byte, error) {
	var answer struct{ Data []byte }
	if err := p.call(ctx, "Page.captureScreenshot", values{"format": "png"}, &answer); err != nil {
		return nil, err
	}
	picture, err := png.Decode(bytes.NewReader(answer.Data))
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	if err := encoder.Encode(&out, reduced(picture)); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// reduced returns a picture with its most frequent colours only. A page has few colours, and all
// others are the edges of letters.
func reduced(picture image.Image) *image.Paletted {
	bounds := picture.Bounds()
	counts := map[color.NRGBA]int{}
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			counts[opaque(picture.At(x, y))]++
		}
	}
	frequent := slices.SortedFunc(maps.Keys(counts), func(a, b color.NRGBA) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(number(a), number(b)))
	})
	palette := color.Palette{}
	for _, c := range frequent[:min(len(frequent), 256)] {
		palette = append(palette, c)
	}
	nearest := map[color.NRGBA]uint8{}
	for c := range counts {
		// A palette has 256 colours at most.
		nearest[c] = uint8(palette.Index(c)) // #nosec G115
	}
	out := image.NewPaletted(bounds, palette)
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			out.SetColorIndex(x, y, nearest[opaque(picture.At(x, y))])
		}
	}
	return out
}

func opaque(c color.Color) color.NRGBA {
	r, g, b, _ := c.RGBA()
	return color.NRGBA{R: uint8(r >> 8), G: uint8(g >> 8), B: uint8(b >> 8), A: 255} // #nosec G115
}

func number(c color.NRGBA) int { return int(c.R)<<16 | int(c.G)<<8 | int(c.B) }
