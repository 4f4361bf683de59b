// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/internal/view"
	"github.com/pintle-dev/pintle/internal/view/manifest"
	"github.com/pintle-dev/pintle/internal/view/read"
)

// storedText is the manifest of a revision.
const storedText = `---
# Source: web/templates/web.yaml
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, annotations: {checksum: "the token is %s"}}
spec: {replicas: %d, template: {spec: {containers: [{name: web, image: "web:%d"}]}}}
---
apiVersion: v1
kind: Secret
metadata: {name: token}
stringData: {token: "%s", name: web}
---
apiVersion: v1
kind: %s
metadata: {name: other}
`

// records are the stored revisions of release web. Revision 2 cannot be read.
func records(_ context.Context, _ release.Target, version int) (*read.Record, error) {
	made := map[int]release.Revision{
		5: {Status: helmv2.StatusDeployed, Owner: "web-uid", Description: "Upgrade complete", SourceRevision: "main@sha1:0123abcd", ChartVersion: "1.3.0", AppVersion: "8", LastDeployed: now.Add(-time.Hour)},
		4: {Status: helmv2.StatusFailed, Owner: "web-uid", Description: "Upgrade \"web\" failed: the token is tok-of-revision-4 and a long text follows that does not fit into one row of the table", ChartVersion: "1.3.0", LastDeployed: now.Add(-5 * time.Hour)},
		3: {Status: helmv2.StatusSuperseded, Owner: "web-uid", Rollback: true, Description: "Rollback to 1", ChartVersion: "1.2.0", AppVersion: "7", LastDeployed: now.Add(-10 * time.Hour)},
	}
	r, ok := made[version]
	if !ok {
		if version == 2 {
			return nil, errors.New("read Secret apps/sh.helm.release.v1.web.v2:\nforbidden")
		}
		var none *read.Record
		return none, nil
	}
	r.Version, r.ChartName = version, "web"
	token, kind := fmt.Sprintf("tok-of-revision-%d", version), "ConfigMap"
	if version == 3 {
		kind = "Service"
	}
	return &read.Record{Revision: r, Hooks: []view.Hook{{Name: "web-migrate", Kind: "Job", Events: "pre-upgrade"}}, Side: manifest.Side{
		Manifest: fmt.Sprintf(storedText, token, version, version, token, kind),
		Values:   map[string]any{"replicas": version, "database": map[string]any{"password": fmt.Sprintf("password of %d", version)}},
		Secrets:  []string{token},
	}}, nil
}

func historyWorld(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, "cluster.yaml")
	w.objects = append(w.objects, newWorld(t, "history.yaml").objects...)
	w.stored = records
	for _, o := range w.objects {
		if hr, ok := o.(*helmv2.HelmRelease); ok && hr.Name == "cart" {
			hr.Spec.ValuesFrom = []helmv2.ValuesReference{
				{Kind: "Secret", Name: "helmchart-cart", ValuesKey: "HelmChart.spec.valuesContent"},
				{Kind: "Secret", Name: "helmchart-cart", ValuesKey: "HelmChartConfig.spec.values"},
				{Kind: "Secret", Name: "helmchart-cart", ValuesKey: "HelmChart.spec.set-000", TargetPath: "image.tag"},
			}
		}
		if hr, ok := o.(*helmv2.HelmRelease); ok && hr.Name == "web" {
			hr.Spec.ValuesFrom = []helmv2.ValuesReference{{Kind: "ConfigMap", Name: "web-defaults"}, {Kind: "Secret", Name: "web-values"}}
			hr.Spec.Values = &apiextensionsv1.JSON{Raw: []byte(`{"replicas":3,"tags":["a","b"],"host.name":null}`)}
		}
	}
	return w
}

func TestHistory(t *testing.T) {
	historyWorld(t).golden("history", "history web", "history web -o wide", "history web -o json", "history web --diff 3 5", "history web --diff 5,3 -o yaml")
}

// TestHistoryErrors: a record that cannot be read is a row, and all others are shown.
func TestHistoryErrors(t *testing.T) {
	w := historyWorld(t)
	for _, o := range w.objects {
		if hr, ok := o.(*helmv2.HelmRelease); ok && hr.Name == "cart" {
			hr.Spec.KubeConfig = &helmv2.KubeConfigReference{}
		}
	}
	w.golden("history-errors", "history missing", "history shop", "history cart", "history web 5", "history web --diff 5", "history web --diff 5,9", "history web --diff 2,5")
	w.forbidden["Secret"] = true
	w.golden("history-forbidden", "history web --diff 3,5")
	w.forbidden["PartialObjectMetadata"] = true
	w.golden("history-forbidden-records", "history web")
}

// TestValues: values of Secrets are masked, also where other layers contain them.
func TestValues(t *testing.T) {
	w := historyWorld(t)
	w.golden("values", "values web", "values web --provenance", "values web -o json", "values shop", "values missing")
	w.golden("values-helmchart", "values hc/cart --provenance")
	w.forbidden["Secret"] = true
	w.golden("values-forbidden", "values web --provenance")
	w = historyWorld(t)
	for _, o := range w.objects {
		if hr, ok := o.(*helmv2.HelmRelease); ok && hr.Name == "web" {
			hr.Spec.ValuesFrom = append(hr.Spec.ValuesFrom, helmv2.ValuesReference{Kind: helmv2.KindGitRepository, Name: "gone"},
				helmv2.ValuesReference{Kind: helmv2.KindBucket, Name: "config", Namespace: "shared", ValuesKey: "a.yaml"},
				helmv2.ValuesReference{Kind: helmv2.KindBucket, Name: "config", Namespace: "shared", ValuesKey: "b.yaml"})
		}
	}
	w.forbidden["Bucket"] = true
	w.golden("values-files", "values web --provenance", "values web")
}

// TestNoSecrets: no output of any command has a value of a Secret.
func TestNoSecrets(t *testing.T) {
	w := historyWorld(t)
	for _, command := range [][]string{
		{"history", "web", "-o", "json"},
		{"history", "web", "-o", "wide"},
		{"history", "web", "--diff", "3,4"},
		{"history", "web", "--diff", "4,3", "-o", "json"},
		{"values", "web"},
		{"values", "web", "-o", "yaml"},
		{"values", "web", "--provenance", "-o", "wide"},
	} {
		w.run(command...)
		for _, secret := range []string{"correct horse", "tok-of-revision", "password of"} {
			if contains(w.out.String()+w.err.String(), secret) {
				t.Errorf("%v prints %q:\n%s", command, secret, w.out.String())
			}
		}
	}
}
