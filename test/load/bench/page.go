// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pintle-dev/pintle/test/harness"
	"github.com/pintle-dev/pintle/test/load/frame"
)

// The phases of the suite for the web page.
const (
	phaseClosed   = "page closed"
	phaseOpen     = "page open"
	phaseOverview = "overview"
	phaseFilter   = "filter"
	phaseSearch   = "search"
	phaseRelease  = "release"
)

const (
	// pageViews is the number of requests of each view.
	pageViews = 20
	// pageInstalled is the number of releases that are installed. The others are suspended.
	pageInstalled = 20
	// pageUser is the user of requests without a token.
	pageUser = "bench-viewer"
	// silence is the time without requests after which the controller is at rest.
	silence = 3 * time.Second
)

// pageSuite returns the load that the web page is measured with.
func pageSuite(base load) load {
	base.Page = true
	return base
}

// pageFlags are the flags of the controller that serve the page.
func pageFlags() []string {
	return []string{"--ui-addr=" + net.JoinHostPort(harness.PageHost, "0"), "--ui-anonymous-user=" + pageUser}
}

// pageSteps measure the page with a stable set of releases.
func (b *bench) pageSteps() []step {
	install := b.install()
	healthy := install.until
	install.before = b.grant
	install.until = func(ctx context.Context, first readings) error {
		if err := healthy(ctx, first); err != nil {
			return err
		}
		if err := b.awaitReconciliations(ctx, first.reconciliations, b.Releases, true); err != nil {
			return err
		}
		return b.awaitSilence(ctx)
	}
	return []step{
		install,
		{name: phaseClosed, do: func(ctx context.Context) error { return frame.Pause(ctx, b.idle) }},
		b.view(phaseOverview, "/"),
		b.view(phaseFilter, "/?namespace="+name+"&state=Ready"),
		b.view(phaseSearch, "/?q=bench-0042"),
		b.view(phaseRelease, "/releases/"+name+"/"+releaseName(0)),
		{name: phaseOpen, do: b.keepOpen},
	}
}

// awaitSilence waits until the controller sends no requests. Events are written in the background, and
// take longer than reconciliations.
func (b *bench) awaitSilence(ctx context.Context) error {
	for last := -1; ; {
		f, err := b.figures(ctx)
		if err != nil {
			return err
		}
		if f.total() == last {
			return nil
		}
		last = f.total()
		if err := frame.Pause(ctx, silence); err != nil {
			return err
		}
	}
}

// grant lets the user of the page see everything.
func (b *bench) grant(ctx context.Context) error {
	return b.Env.Client.Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: pageUser},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: pageUser}},
	})
}

// view measures requests of one page, one after the other.
func (b *bench) view(name, path string) step {
	var times []time.Duration
	return step{
		name: name,
		do: func(ctx context.Context) error {
			for range pageViews {
				began := time.Now()
				if err := b.get(ctx, path, io.Discard); err != nil {
					return err
				}
				times = append(times, time.Since(began))
			}
			return nil
		},
		note: func(p *phase) {
			views := harness.NewSpread(times, nil)
			p.Views = &views
		},
	}
}

// keepOpen listens for events as an open page does.
func (b *bench) keepOpen(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, b.idle)
	defer cancel()
	var events strings.Builder
	err := b.get(ctx, "/events", &events)
	switch {
	case ctx.Err() == nil:
		return fmt.Errorf("the stream of events ended early: %w", err)
	case strings.Contains(events.String(), "data:"):
		return fmt.Errorf("events although nothing has changed: %s", events.String())
	}
	return nil
}

// get reads a page.
func (b *bench) get(ctx context.Context, path string, to io.Writer) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+b.page+path, nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	if _, err := io.Copy(to, answer.Body); err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s: %s", path, answer.Status)
	}
	return nil
}

// viewing returns a table of the requests of pages.
func (s *session) viewing() [][]string {
	rows := [][]string{{"page", "views", "median ms", "95th percentile", "worst", "requests per view", "watches opened"}}
	for _, p := range s.Phases {
		v := p.Views
		if v == nil {
			continue
		}
		rows = append(rows, []string{
			p.Name, fmt.Sprint(v.Count), fmt.Sprintf("%.1f", 1000*v.Median), fmt.Sprintf("%.1f", 1000*v.P95), fmt.Sprintf("%.1f", 1000*v.Worst),
			fmt.Sprintf("%.1f", float64(p.Sent)/float64(v.Count)), fmt.Sprint(p.watches()),
		})
	}
	return rows
}

// watches returns the number of watches that were opened.
func (p *phase) watches() int {
	n := 0
	for kind, count := range p.ByKind {
		if strings.HasPrefix(kind, "watch ") {
			n += count
		}
	}
	return n
}

// pageCeilings are the limits of the page. They apply to 3000 releases.
func pageCeilings() []ceiling {
	holds := func(l load) bool { return l == pageSuite(l) && l.Releases == 3000 }
	median := func(name string) ceiling {
		return ceiling{name, "median s of a view", func(_ *session, p *phase) (float64, bool) {
			if p.Views == nil {
				return 0, false
			}
			return p.Views.Median, true
		}, 0.3, holds}
	}
	requests := func(name string) ceiling {
		return ceiling{name, "requests", func(_ *session, p *phase) (float64, bool) { return float64(p.Sent), true }, 0, holds}
	}
	return []ceiling{
		requests(phaseClosed), median(phaseOverview), median(phaseFilter), median(phaseSearch), median(phaseRelease), requests(phaseOpen),
	}
}
