// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package page tests the web page in Chromium. The releases on it are those of a control plane with
// simulated nodes. `make screenshots` runs the same tests, and keeps the pictures.
package page

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/pintle-dev/pintle/test/browser"
	"github.com/pintle-dev/pintle/test/fixture"
	"github.com/pintle-dev/pintle/test/harness"
)

// suite is shared by all tests.
var suite struct {
	*harness.Environment

	browser *browser.Browser
	// axe is the script of axe-core.
	axe string
	// origin is the address of the page, without a path.
	origin string
}

func TestMain(m *testing.M) {
	code, err := run(context.Background(), m)
	fixture.Exit("page", code, err)
}

func run(ctx context.Context, m *testing.M) (code int, err error) {
	executable, script, fonts := os.Getenv("PINTLE_BROWSER"), os.Getenv("PINTLE_AXE"), os.Getenv("PINTLE_FONTS")
	if executable == "" || script == "" || fonts == "" {
		return 1, errors.New("PINTLE_BROWSER, PINTLE_AXE and PINTLE_FONTS are not set: hack/page.sh sets them")
	}
	axe, err := os.ReadFile(script)
	if err != nil {
		return 1, err
	}
	suite.axe = string(axe)
	dir := filepath.Join(harness.Root(), "bin", "page", strconv.Itoa(os.Getpid()))
	code, err = fixture.Suite{
		Options: harness.Options{Dir: dir, ControllerArgs: []string{"--ui-addr=" + harness.PageHost + ":0"}},
		Prepare: func(ctx context.Context, e *harness.Environment) (err error) {
			suite.Environment = e
			if err := e.Until(ctx, "the page to be served", func() (string, bool) {
				address, err := e.Controller.Address(harness.PageHost)
				suite.origin = "http://" + address
				return fmt.Sprint(err), err == nil
			}); err != nil {
				return err
			}
			suite.browser, err = browser.Start(ctx, browser.Options{Executable: executable, Dir: filepath.Join(dir, "browser"), Fonts: fonts})
			return err
		},
		Failed: func(e *harness.Environment) error {
			kept := dir + "-controller.log"
			fmt.Println("the controller's log is kept in", kept)
			return os.Rename(e.Controller.LogPath, kept)
		},
	}.Run(ctx, m)
	return code, err
}
