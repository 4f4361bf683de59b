// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/pintle-dev/pintle/api/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/test/harness"
	"github.com/pintle-dev/pintle/test/load/frame"
)

const (
	// name is the name of the namespace, and the prefix of charts and their sources.
	name = "bench"
	// shownLogLines is how much of the controller's log an error quotes.
	shownLogLines = 25
	// paddingFile is the size of one of the files that make a chart large.
	paddingFile = 100_000
)

// prepare pushes the charts and makes the sources of all releases.
func (b *bench) prepare(ctx context.Context) error {
	if err := frame.Namespaces(ctx, b.Env, name); err != nil {
		return err
	}
	if b.Policy {
		all := &v1alpha1.ClusterReleasePolicy{ObjectMeta: metav1.ObjectMeta{Name: name}}
		all.Spec.Approval = v1alpha1.ApprovalNever
		if err := b.Env.Client.Create(ctx, all); err != nil {
			return err
		}
	}
	for i := range b.Charts {
		version, err := b.push(ctx, i)
		if err != nil {
			return err
		}
		if err := b.Env.Client.Create(ctx, b.Source(name, b.chartName(i), b.chartName(i), version)); err != nil {
			return err
		}
	}
	return b.AwaitSources(ctx, name, b.Charts)
}

// push packs a chart and pushes it; it returns its version.
func (b *bench) push(ctx context.Context, i int) (string, error) {
	chart, err := harness.LoadChart(name)
	if err != nil {
		return "", err
	}
	chart.Metadata.Name = b.chartName(i)
	text := padding(b.Padding, uint64(i))
	for n := 0; len(text) > 0; n++ {
		size := min(len(text), paddingFile)
		harness.AddFile(chart, fmt.Sprintf("files/%03d.txt", n), text[:size])
		text = text[size:]
	}
	archive, err := b.Publish(ctx, chart)
	b.session.ArtifactBytes = len(archive)
	return chart.Metadata.Version, err
}

// chartName is the plain name if there is only one chart.
func (b *bench) chartName(i int) string {
	if b.Charts == 1 {
		return name
	}
	return fmt.Sprintf("%s-%03d", name, i%b.Charts)
}

// padding is text with repeated lines, as in long manifests. A revision has all files of its chart
// in base64, and must fit into a Secret after compression: prose of this size would not.
func padding(size int, seed uint64) []byte {
	random := rand.New(rand.NewPCG(seed, 1))
	lines := make([][]byte, 100)
	for i := range lines {
		for range 30 + random.IntN(60) {
			lines[i] = append(lines[i], byte('a'+random.IntN(26)))
		}
		lines[i] = append(lines[i], '\n')
	}
	var text bytes.Buffer
	for text.Len() < size {
		part := random.Float64() // some are frequent, most are not
		text.Write(lines[int(part*part*float64(len(lines)))])
	}
	return text.Bytes()[:size]
}

func (b *bench) release(i int) *helmv2.HelmRelease {
	values := `{"message":"hello"}`
	hr := &helmv2.HelmRelease{
		ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: releaseName(i)},
		Spec: helmv2.HelmReleaseSpec{
			Interval: metav1.Duration{Duration: b.rest()},
			ChartRef: &helmv2.CrossNamespaceSourceReference{Kind: sourcev1.OCIRepositoryKind, Name: b.chartName(i)},
		},
	}
	hr.Spec.Suspend = b.suspended(i)
	if b.Drift {
		hr.Spec.DriftDetection = &helmv2.DriftDetection{Mode: helmv2.DriftDetectionEnabled}
	}
	if b.unready(i) {
		hr.Spec.Timeout = &b.UnreadyTimeout
		values = `{"message":"hello","replicas":1,"podAnnotations":{"simulate.pintle.dev/ready":"never"}}`
	}
	hr.Spec.Values = &apiextensionsv1.JSON{Raw: []byte(values)}
	return hr
}

func releaseName(i int) string { return fmt.Sprintf("bench-%05d", i) }

func (b *bench) create(ctx context.Context) error {
	return b.each(ctx, func(ctx context.Context, i int) error { return b.Env.Client.Create(ctx, b.release(i)) })
}

func (b *bench) patch(ctx context.Context, i int, patch string) error {
	return b.Env.Client.Patch(ctx, b.release(i), client.RawPatch(types.MergePatchType, json.RawMessage(patch)))
}

func (b *bench) patchAll(ctx context.Context, patch string) error {
	return b.each(ctx, func(ctx context.Context, i int) error { return b.patch(ctx, i, patch) })
}

func (b *bench) deleteAll(ctx context.Context) error {
	return b.each(ctx, func(ctx context.Context, i int) error { return b.Env.Client.Delete(ctx, b.release(i)) })
}

// each calls do for all releases, several at a time.
func (b *bench) each(ctx context.Context, do func(context.Context, int) error) error {
	return frame.Times(ctx, frame.Concurrency, b.Releases, func(ctx context.Context, i int) error {
		if err := do(ctx, i); err != nil {
			return fmt.Errorf("HelmRelease %s: %w", releaseName(i), err)
		}
		return nil
	})
}
