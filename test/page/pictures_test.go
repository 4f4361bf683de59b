// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"cmp"
	"context"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/pintle-dev/pintle/test/browser"
)

// maxPicture is the size that a picture in the documentation may have.
const maxPicture = 200 << 10

// pictures is the folder that keeps the pictures; empty to remove them.
var pictures = flag.String("pictures", "", "folder for the pictures")

// testPictures: the pictures of the documentation can be taken.
func testPictures(t *testing.T, _ set, user account) {
	dir := cmp.Or(*pictures, t.TempDir())
	b := newTab(t)
	b.login(user)
	for _, p := range []struct {
		name, path string
		look       browser.Look
		// at is the ID of the element at the top; empty for the beginning of the page.
		at string
	}{
		{name: "overview", path: "/", look: desktop},
		{name: "release-failing", path: "/releases/shop/checkout", look: dark(desktop)},
		{name: "release-plan", path: "/releases/billing/ledger", look: desktop},
		{name: "phone", path: "/", look: phone},
	} {
		p.look.Scale = 1.5
		b.show(p.look)
		b.opens(p.path)
		if p.at != "" {
			b.eval(`document.getElementById("`+p.at+`").scrollIntoView()`, nil)
		}
		var picture []byte
		b.do(func(ctx context.Context) (err error) {
			picture, err = b.page.Picture(ctx)
			return err
		})
		if len(picture) > maxPicture {
			t.Errorf("the picture of %s has %d bytes, and %d are allowed", p.path, len(picture), maxPicture)
		}
		if err := os.WriteFile(filepath.Join(dir, p.name+".png"), picture, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b.clean()
}
