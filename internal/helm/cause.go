// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"errors"
	"fmt"

	"k8s.io/cli-runtime/pkg/resource"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/internal/render/remote"
	"github.com/pintle-dev/pintle/internal/worker"
)

// refusal is why the API server refused an object.
type refusal struct{ code, object, text string }

// addRefusal adds an object that the API server refused.
func (f *findings) addRefusal(info *resource.Info, err error) {
	if code, text := refusalOf(err); code != "" {
		f.refusals = append(f.refusals, refusal{code, info.Mapping.GroupVersionKind.Kind + " " + f.nameOf(info), text})
	}
}

// nameOf returns the name of an object, with its namespace unless that is the namespace of the release.
func (f *findings) nameOf(info *resource.Info) string {
	if info.Namespace == "" || info.Namespace == f.namespace {
		return info.Name
	}
	return info.Namespace + "/" + info.Name
}

// cause returns the cause of a failed action without a diagnosis; zero if none is known but the error. The
// text may contain secrets.
func (f *findings) cause(err error) release.Cause {
	switch {
	case err == nil:
		return release.Cause{}
	case len(f.refusals) > 0:
		return causeOfRefusals(f.refusals)
	}
	if code := renderFailure(err); code != "" {
		return release.Cause{Code: code, Text: err.Error()}
	}
	code, text := refusalOf(err)
	return release.Cause{Code: code, Text: text}
}

// renderFailure returns the code of an error of the chart or the values; empty for other errors.
func renderFailure(err error) string {
	var (
		unloadable *remote.Unloadable
		misfit     *remote.Misfit
		ended      *remote.Ended
		failure    *worker.Failure
	)
	switch {
	case errors.As(err, &unloadable):
		return helmv2.FailureChartInvalid
	case errors.As(err, &misfit):
		return helmv2.FailureSchemaInvalid
	case errors.As(err, &ended), errors.As(err, &failure):
		return helmv2.FailureTemplate
	}
	return ""
}

// causeOfRefusals returns the cause of the first object. Objects with the same cause are counted.
func causeOfRefusals(all []refusal) release.Cause {
	first, n := all[0], 0
	for _, r := range all {
		if r.code == first.code && r.text == first.text {
			n++
		}
	}
	if n > 1 {
		return release.Cause{Code: first.code, Text: fmt.Sprintf("%s (%d objects)", first.text, n)}
	}
	return release.Cause{Code: first.code, Text: first.object + ": " + first.text}
}
