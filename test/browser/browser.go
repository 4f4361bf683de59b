// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// stopTimeout is how long the process may take to end before it is killed.
const stopTimeout = 10 * time.Second

// Options configure Start.
type Options struct {
	// Executable is the path of Chromium.
	Executable string
	// Dir is a folder for the profile and the log.
	Dir string
	// Fonts is the only folder with fonts, so that pictures are the same on all machines.
	Fonts string
}

// Browser is a process of Chromium.
type Browser struct {
	cmd   *exec.Cmd
	conn  *connection
	ended chan struct{}
}

// Start starts the process. It ends with this one.
func Start(ctx context.Context, o Options) (*Browser, error) {
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, err
	}
	config := filepath.Join(o.Dir, "fonts.conf")
	if err := os.WriteFile(config, fmt.Appendf(nil, fontConfig, o.Fonts, o.Dir), 0o600); err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(o.Dir, "chromium.log"))
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()
	commandsOut, commandsIn, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	answersOut, answersIn, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, commandsOut.Close(), commandsIn.Close())
	}
	cmd := exec.Command(o.Executable, flags(o.Dir)...)
	// Chromium reads commands from descriptor 3 and writes answers to descriptor 4.
	cmd.ExtraFiles = []*os.File{commandsOut, answersIn}
	cmd.Env = append(os.Environ(), "FONTCONFIG_FILE="+config, "HOME="+o.Dir, "XDG_CONFIG_HOME="+o.Dir, "XDG_CACHE_HOME="+o.Dir)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	err = cmd.Start()
	if closed := errors.Join(commandsOut.Close(), answersIn.Close()); err != nil || closed != nil {
		return nil, errors.Join(fmt.Errorf("start %s: %w", o.Executable, err), closed, commandsIn.Close(), answersOut.Close())
	}
	b := &Browser{cmd: cmd, conn: connect(answersOut, commandsIn), ended: make(chan struct{})}
	go func() {
		defer close(b.ended)
		_ = cmd.Wait() // the exit code of a killed browser says nothing
	}()
	if err := b.conn.call(ctx, "", "Browser.getVersion", nil, nil); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", o.Executable, err), b.Stop())
	}
	return b, nil
}

// fontConfig has one family for each use.
const fontConfig = `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>%s</dir>
  <cachedir>%s/fontconfig</cachedir>
  <alias binding="same"><family>system-ui</family><prefer><family>Inter</family></prefer></alias>
  <alias binding="same"><family>sans-serif</family><prefer><family>Inter</family></prefer></alias>
  <alias binding="same"><family>monospace</family><prefer><family>JetBrains Mono</family></prefer></alias>
</fontconfig>
`

func flags(dir string) []string {
	return []string{
		"--headless", "--remote-debugging-pipe", "--user-data-dir=" + filepath.Join(dir, "profile"),
		// A container has no rights for the sandbox, and only pages of this project are opened.
		"--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu",
		"--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-default-apps", "--disable-extensions",
		"--hide-scrollbars", "--font-render-hinting=none", "--force-color-profile=srgb", "--lang=en-US",
	}
}

// Stop ends the process and returns when it has ended.
func (b *Browser) Stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	err := b.conn.call(ctx, "", "Browser.close", nil, nil)
	select {
	case <-b.ended:
	case <-ctx.Done():
		// The group has the processes of all pages.
		err = errors.Join(err, syscall.Kill(-b.cmd.Process.Pid, syscall.SIGKILL))
		<-b.ended
	}
	return errors.Join(err, b.conn.close())
}

// NewPage opens an empty page. It shares no cookies with other pages.
func (b *Browser) NewPage(ctx context.Context) (*Page, error) {
	var made struct{ BrowserContextID string }
	if err := b.conn.call(ctx, "", "Target.createBrowserContext", values{"disposeOnDetach": true}, &made); err != nil {
		return nil, err
	}
	var target struct{ TargetID string }
	if err := b.conn.call(ctx, "", "Target.createTarget", values{"url": "about:blank", "browserContextId": made.BrowserContextID}, &target); err != nil {
		return nil, err
	}
	var attached struct{ SessionID string }
	if err := b.conn.call(ctx, "", "Target.attachToTarget", values{"targetId": target.TargetID, "flatten": true}, &attached); err != nil {
		return nil, err
	}
	p := &Page{conn: b.conn, session: attached.SessionID, context: made.BrowserContextID, loaded: make(chan struct{}, 1)}
	b.conn.listen(p.session, p.event)
	for _, domain := range []string{"Page", "Runtime", "Log", "Network"} {
		if err := p.call(ctx, domain+".enable", nil, nil); err != nil {
			return nil, err
		}
	}
	// All pages count as visible and have the focus, as in windows of different users.
	return p, p.call(ctx, "Emulation.setFocusEmulationEnabled", values{"enabled": true}, nil)
}
