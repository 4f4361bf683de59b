// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package site

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/page/access"
	"github.com/pintle-dev/pintle/internal/view"
	"github.com/pintle-dev/pintle/internal/view/read"
)

const (
	// maxRequests is the number of requests that one page of a release sends at the same time.
	maxRequests = 16
	// maxObjects is the number of objects of a release that are read, and maxNamespaces the number of
	// namespaces in which their Pods are listed.
	maxObjects    = 200
	maxNamespaces = 4
	// maxUnready is the number of objects that are listed while an action waits for them.
	maxUnready = 20
)

// releasePage is the content of the page of a release.
type releasePage struct {
	view.Why
	// Elsewhere is true for a release in another cluster. Of its objects, only names and readiness
	// are shown: the rights of the user there are not known.
	Elsewhere bool
	Timeline  timeline
	Objects   section[objects]
	Values    section[view.Values]
	Changes   changes
	Related   section[related]
	now       time.Time
}

// objects is the tree of the objects of a release.
type objects struct {
	view.Tree
	// Unanswered is true if another cluster did not answer, so that only names are known.
	Unanswered bool
}

// Age returns the age of an event.
func (p *releasePage) Age(at time.Time) view.Age { return view.AgeOf(at, p.now) }

// Head returns the sentences of the message.
func (p *releasePage) Head() string {
	head, _ := view.Message(p.Message)
	return head
}

// Details returns the lines below the sentences of the message, and the details of the cause.
func (p *releasePage) Details() []string {
	_, all := view.Message(p.Message)
	if p.Cause != nil {
		all = append(all, p.Cause.Details...)
	}
	return all
}

// NotReady returns the objects that the running action waits for.
func (p *releasePage) NotReady() view.Limited[view.Unready] {
	return view.First(p.Running.Unready, maxUnready)
}

// Summary returns the cause, if the message does not have it.
func (p *releasePage) Summary() string {
	if p.Cause == nil || strings.Contains(p.Head(), strings.TrimRight(p.Cause.Summary, ".")) {
		return ""
	}
	return p.Cause.Summary
}

// release shows one release.
func (s *site) release(w http.ResponseWriter, r *http.Request, viewer *access.Viewer) error {
	hr, err := viewer.Release(r.Context(), r.PathValue("namespace"), r.PathValue("name"))
	if err != nil {
		return err
	}
	content := newReleasePage(hr, r.URL.Query(), s.Now())
	if reader, err := viewer.Reader(r.Context(), hr); err == nil {
		reader = withLimits(reader)
		others := func(ctx context.Context) (related, error) { return s.readRelated(ctx, viewer, reader, hr) }
		content.read(r.Context(), sectionReaders{Reader: reader, contents: viewer.Contents, elsewhere: viewer.Elsewhere, others: others}, hr)
	} else {
		content.leaveOut(err, hr)
	}
	code := http.StatusOK
	if content.Changes.Problem != "" {
		code = http.StatusBadRequest
	}
	s.render(w, r, code, "release", &layout{
		Title: hr.Namespace + "/" + hr.Name, User: viewer.User, Content: content, Follow: content.Running != nil,
	})
	return nil
}

// newReleasePage returns the page of a release without its sections.
func newReleasePage(hr *helmv2.HelmRelease, query url.Values, now time.Time) *releasePage {
	wanted, problem := parseComparison(query)
	return &releasePage{Elsewhere: hr.Spec.KubeConfig != nil, Changes: changes{comparison: wanted, Problem: problem}, now: now}
}

// withLimits returns a reader with the limits of one page.
func withLimits(reader *read.Reader) *read.Reader {
	limited := *reader
	limited.Client = read.Once(reader.Client, maxRequests)
	if reader.Redacted != nil {
		limited.Redacted = read.Once(reader.Redacted, maxRequests)
	}
	limited.Limits = read.Limits{Objects: maxObjects, Namespaces: maxNamespaces}
	return &limited
}

// sectionReaders read the sections of a release.
type sectionReaders struct {
	*read.Reader
	// contents returns an error if the user may not see the values and manifests of a release.
	contents func(ctx context.Context, hr *helmv2.HelmRelease) error
	// elsewhere reads objects in another cluster.
	elsewhere func(ctx context.Context, hr *helmv2.HelmRelease) (tree view.Tree, answered bool)
	// others reads the objects that are related to the release.
	others func(context.Context) (related, error)
}

// read reads all sections.
func (p *releasePage) read(ctx context.Context, reader sectionReaders, hr *helmv2.HelmRelease) {
	var why section[view.Why]
	var revisions section[[]view.Revision]
	s := newSections(ctx, sectionTimeout)
	load(s, &why, func(ctx context.Context) (view.Why, error) {
		facts, err := reader.Why(ctx, hr.Namespace, hr.Name)
		return view.Explain(facts), err
	})
	load(s, &revisions, func(ctx context.Context) ([]view.Revision, error) {
		records, err := reader.History(ctx, hr)
		return view.History(hr, records), err
	})
	load(s, &p.Objects, func(ctx context.Context) (objects, error) {
		if p.Elsewhere {
			tree, answered := reader.elsewhere(ctx, hr)
			return objects{tree, !answered}, nil
		}
		tree, err := reader.Tree(ctx, hr)
		return objects{Tree: tree}, err
	})
	load(s, &p.Related, reader.others)
	load(s, &p.Values, func(ctx context.Context) (view.Values, error) {
		if err := reader.contents(ctx, hr); err != nil {
			return view.Values{}, err
		}
		return reader.Values(ctx, hr)
	})
	if p.Changes.asked() {
		load(s, &p.Changes.Differences, func(ctx context.Context) (differences, error) {
			if err := reader.contents(ctx, hr); err != nil {
				return differences{}, err
			}
			a, b, err := reader.Sides(ctx, hr, p.Changes.From, p.Changes.To)
			return differencesOf(a, b), err
		})
	}
	s.wait()
	p.add(hr, why, revisions)
}

// leaveOut is the page without sections, for a release whose identity cannot be used.
func (p *releasePage) leaveOut(err error, hr *helmv2.HelmRelease) {
	text := missing(err, sectionTimeout)
	p.Objects.Missing, p.Values.Missing, p.Related.Missing = text, text, text
	p.add(hr, section[view.Why]{Missing: text}, section[[]view.Revision]{Missing: text})
}

// add adds the sections that are made of several parts. Without its facts, the state of a release
// is the state in its status.
func (p *releasePage) add(hr *helmv2.HelmRelease, why section[view.Why], revisions section[[]view.Revision]) {
	if why.Content == nil {
		none := func(string, string) *helmv2.HelmRelease { return nil }
		explained := view.Explain(view.Facts{Release: hr, Lookup: none, Now: p.now, Unread: []string{"dependencies, events and live objects: " + strings.TrimPrefix(why.Missing, notShown)}})
		why.Content = &explained
	}
	p.Why = *why.Content
	p.Timeline = timelineOf(hr, p.Events, revisions)
	p.Changes.offer(p.Timeline)
}
