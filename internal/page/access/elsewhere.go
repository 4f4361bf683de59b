// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/diff"
	"github.com/pintle-dev/pintle/internal/view"
	"github.com/pintle-dev/pintle/internal/view/read"
)

const (
	// elsewhereTimeout is the time that another cluster has to answer. Its gate waits longer before
	// it suspects the cluster, so that pages do not change the state of the gate.
	elsewhereTimeout = 3 * time.Second
	// maxElsewhere is the number of pages that read other clusters at the same time.
	maxElsewhere = 2
	// maxObjectsElsewhere is the number of objects that one page reads, and maxAnswer the size of
	// each.
	maxObjectsElsewhere = 200
	maxAnswer           = 4 << 20
)

// Readiness reads the readiness of the objects of a release in another cluster.
type Readiness func(ctx context.Context, hr *helmv2.HelmRelease) (view.Tree, error)

// ReadinessAsRelease returns a function that reads with the identity of a release.
func ReadinessAsRelease(find Find, scheme *runtime.Scheme) Readiness {
	slots := make(chan struct{}, maxElsewhere)
	return func(ctx context.Context, hr *helmv2.HelmRelease) (view.Tree, error) {
		leave, err := enter(ctx, slots)
		if err != nil {
			return view.Tree{}, err
		}
		defer leave()
		conn, err := find(ctx, hr)
		if err != nil {
			return view.Tree{}, err
		}
		c, err := clientOf(conn.With(smallAnswers), scheme)
		if err != nil {
			return view.Tree{}, err
		}
		reader := &read.Reader{Client: c, Limits: read.Limits{Objects: maxObjectsElsewhere}}
		return reader.Readiness(ctx, hr)
	}
}

// smallAnswers returns a transport that cuts large answers, and refuses writes. Another cluster
// belongs to the author of its kubeconfig.
func smallAnswers(base http.RoundTripper) http.RoundTripper { return small{diff.ReadOnly(base)} }

type small struct{ base http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (s small) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := s.base.RoundTrip(req)
	if err == nil {
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(resp.Body, maxAnswer), resp.Body}
	}
	return resp, err
}

// Elsewhere returns the names and the readiness of the objects of a release in another cluster,
// which the user may get. The rights of the user there are not known, so nothing else is read. If
// answered is false, these are names only: the cluster did not answer in time.
func (v *Viewer) Elsewhere(ctx context.Context, hr *helmv2.HelmRelease) (tree view.Tree, answered bool) {
	ctx, cancel := context.WithTimeout(ctx, elsewhereTimeout)
	defer cancel()
	type result struct {
		tree view.Tree
		err  error
	}
	done := make(chan result, 1)
	// Discovery does not end with the context. It keeps its slot, and its result is dropped.
	go func() {
		var r result
		defer func() {
			if cause := recover(); cause != nil {
				r.err = fmt.Errorf("panic: %v", cause)
			}
			done <- r
		}()
		r.tree, r.err = v.Readiness(ctx, hr)
	}()
	var r result
	select {
	case r = <-done:
	case <-ctx.Done():
		r.err = ctx.Err()
	}
	if r.err != nil {
		v.Log.Info("other cluster not read for the web page", "helmrelease", hr.Namespace+"/"+hr.Name, "error", r.err.Error())
		return view.NamesOf(hr), false
	}
	return r.tree, true
}
