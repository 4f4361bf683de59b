// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package site

import (
	"context"
	"net/http"
	"time"

	"github.com/pintle-dev/pintle/internal/page/access"
	"github.com/pintle-dev/pintle/internal/view"
)

// driftTimeout is the time that a comparison has. It ends before the request does.
const driftTimeout = 20 * time.Second

// driftPage shows how the live objects of a release differ from its newest revision.
type driftPage struct {
	Namespace, Name string
	// Elsewhere is true for a release in another cluster, whose objects are not compared.
	Elsewhere bool
	// Next is what a reconciliation does about the differences.
	Next        string
	Differences section[driftDifferences]
}

// driftDifferences is the result of a comparison, with lists of bounded length.
type driftDifferences struct {
	Revision, Compared, Hidden, More int
	Objects                          view.Limited[driftedObject]
	Problems, Warnings               view.Limited[string]
}

// driftedObject is an object that differs.
type driftedObject struct {
	view.Object
	// Missing is true for an object that does not exist.
	Missing bool
	Fields  view.Limited[view.FieldDiff]
}

// drift compares the live objects of one release.
func (s *site) drift(w http.ResponseWriter, r *http.Request, viewer *access.Viewer) error {
	hr, err := viewer.Release(r.Context(), r.PathValue("namespace"), r.PathValue("name"))
	if err != nil {
		return err
	}
	p := &driftPage{Namespace: hr.Namespace, Name: hr.Name, Elsewhere: hr.Spec.KubeConfig != nil, Next: view.NextOfDrift(hr)}
	if !p.Elsewhere {
		all := newSections(r.Context(), driftTimeout)
		load(all, &p.Differences, func(ctx context.Context) (driftDifferences, error) {
			found, err := viewer.Drift(ctx, hr)
			return driftDifferencesOf(found), err
		})
		all.wait()
	}
	s.render(w, r, http.StatusOK, "drift", &layout{Title: hr.Namespace + "/" + hr.Name, User: viewer.User, Content: p})
	return nil
}

// driftDifferencesOf returns the result of a comparison with lists of bounded length.
func driftDifferencesOf(d access.Drift) driftDifferences {
	all := driftDifferences{
		Revision: d.Revision, Compared: d.Compared, Hidden: d.Hidden, More: d.More,
		Problems: view.First(d.Problems, maxEntries), Warnings: view.First(d.Warnings, maxEntries),
	}
	first := view.First(d.Drifted, maxChanges)
	all.Objects.More = first.More
	for _, o := range first.Entries {
		all.Objects.Entries = append(all.Objects.Entries, driftedObject{
			Object: o.Object, Missing: o.Change == view.DiffCreated, Fields: view.First(o.Fields, maxFields),
		})
	}
	return all
}
