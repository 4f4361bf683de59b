// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/cli/text"
	"github.com/pintle-dev/pintle/internal/view"
)

// watch prints a row for each change of a view until the context ends. list was printed before.
func (s *Session) watch(ctx context.Context, c *connection, list *helmv2.HelmReleaseList, names []string, rows *text.Releases) error {
	known := map[client.ObjectKey]*helmv2.HelmRelease{}
	last := map[client.ObjectKey]view.Release{}
	lookup := func(namespace, name string) *helmv2.HelmRelease {
		return known[client.ObjectKey{Namespace: namespace, Name: name}]
	}
	remember := func(hr *helmv2.HelmRelease) (view.Release, bool) {
		key := client.ObjectKeyFromObject(hr)
		known[key] = hr
		row := view.ReleaseOf(hr, lookup, s.Now())
		changed := !sameRow(row, last[key])
		last[key] = row
		return row, changed && (len(names) == 0 || slices.Contains(names, hr.Name))
	}
	for i := range list.Items {
		remember(&list.Items[i])
	}
	for version := list.ResourceVersion; ; {
		w, err := c.Watch(ctx, &helmv2.HelmReleaseList{}, &client.ListOptions{
			Namespace: c.namespace, Raw: &metav1.ListOptions{ResourceVersion: version, AllowWatchBookmarks: true},
		})
		if err == nil {
			version, err = s.follow(ctx, w, version, remember, rows)
		}
		switch {
		case ctx.Err() != nil:
			return nil //nolint:nilerr // the user ended the command
		case apierrors.IsResourceExpired(err) || apierrors.IsGone(err):
			// The version is too old. The present state follows as added objects.
			version = ""
		case err != nil:
			return err
		}
		// Watches end after minutes. A server that ends them at once is watched again after a
		// pause.
		select {
		case <-time.After(pollInterval):
		case <-ctx.Done():
		}
	}
}

// follow prints the changes of one watch until it ends, and returns the last version.
func (s *Session) follow(ctx context.Context, w watch.Interface, version string, remember func(*helmv2.HelmRelease) (view.Release, bool), rows *text.Releases) (string, error) {
	defer w.Stop()
	for {
		var event watch.Event
		select {
		case <-ctx.Done():
			return version, ctx.Err()
		case received, open := <-w.ResultChan():
			if !open {
				return version, nil
			}
			event = received
		}
		if event.Type == watch.Error {
			return version, apierrors.FromObject(event.Object)
		}
		hr, ok := event.Object.(*helmv2.HelmRelease)
		if !ok {
			return version, fmt.Errorf("the API server sent %T for a HelmRelease", event.Object)
		}
		version = hr.ResourceVersion
		if event.Type == watch.Bookmark || event.Type == watch.Deleted {
			continue
		}
		if row, changed := remember(hr); changed {
			if err := rows.Print(s.Out, row); err != nil {
				return version, err
			}
		}
	}
}

// sameRow reports whether two views print alike, apart from their age.
func sameRow(a, b view.Release) bool {
	a.Changed, b.Changed, a.Since, b.Since = nil, nil, nil, nil
	return a == b
}
