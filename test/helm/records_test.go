// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	action4 "helm.sh/helm/v4/pkg/action"
	chart4 "helm.sh/helm/v4/pkg/chart"
	common4 "helm.sh/helm/v4/pkg/chart/common"
	loader4 "helm.sh/helm/v4/pkg/chart/loader"
	kube4 "helm.sh/helm/v4/pkg/kube"
	kubefake4 "helm.sh/helm/v4/pkg/kube/fake"
	storage4 "helm.sh/helm/v4/pkg/storage"
	driver4 "helm.sh/helm/v4/pkg/storage/driver"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

// record is a Secret of Helm: its labels, and its data as JSON.
type record struct {
	Labels  map[string]string `json:"labels"`
	Release json.RawMessage   `json:"release"`
}

var errObject = errors.New("the object is rejected")

// TestRecords: the files of the storage have the form of what the actions behind the commands of Helm 4 store:
// an install, an upgrade and a rollback by server-side apply, and an upgrade by client-side apply that fails.
func TestRecords(t *testing.T) {
	clients := fake.NewClientset()
	kube := &kubefake4.FailingKubeClient{PrintingKubeClient: kubefake4.PrintingKubeClient{Out: io.Discard, LogOutput: io.Discard}}
	config := action4.NewConfiguration()
	config.Releases = storage4.Init(driver4.NewSecrets(clients.CoreV1().Secrets("prod")))
	config.KubeClient, config.Capabilities = kube, common4.DefaultCapabilities
	chart := func(version string) chart4.Charter {
		c, err := loader4.LoadArchive(bytes.NewReader(pack(t, map[string]string{
			"Chart.yaml":            "apiVersion: v2\nname: web\nversion: " + version + "\nappVersion: '9'\nannotations: {a: b}\nmaintainers: [{name: A}]\n",
			"values.yaml":           "one: 1\nnone: null\n",
			"templates/a.yaml":      "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata: {v: {{ .Values.v | quote }} }\n",
			"templates/hook.yaml":   "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: hook\n  annotations: {helm.sh/hook: 'pre-install,pre-upgrade,pre-rollback', helm.sh/hook-weight: '-1', helm.sh/hook-output-log-policy: hook-failed}\n",
			"templates/test.yaml":   "apiVersion: v1\nkind: Pod\nmetadata:\n  name: test\n  annotations: {helm.sh/hook: test}\n",
			"templates/NOTES.txt":   "Notes of {{ .Release.Name }}\n",
			"templates/_helper.tpl": "",
		})))
		must(t, err)
		return c
	}

	install := action4.NewInstall(config)
	install.ReleaseName, install.Namespace, install.WaitStrategy = "app", "prod", kube4.HookOnlyStrategy
	install.Labels = map[string]string{"team": "web"}
	_, err := install.Run(chart("1.0.0"), map[string]any{"v": "one", "n": 1})
	must(t, err)
	upgrade := action4.NewUpgrade(config)
	upgrade.Namespace, upgrade.WaitStrategy, upgrade.ServerSideApply = "prod", kube4.HookOnlyStrategy, "auto"
	_, err = upgrade.Run("app", chart("1.1.0"), map[string]any{"v": "two"})
	must(t, err)
	rollback := action4.NewRollback(config)
	rollback.Version, rollback.WaitStrategy, rollback.ServerSideApply = 1, kube4.HookOnlyStrategy, "auto"
	must(t, rollback.Run("app"))
	upgrade.ServerSideApply = "false"
	kube.UpdateError = errObject
	if _, err = upgrade.Run("app", chart("1.2.0"), nil); !errors.Is(err, errObject) {
		t.Fatalf("the upgrade has not failed: %v", err)
	}

	for version := 1; version <= 4; version++ {
		secret, err := clients.CoreV1().Secrets("prod").Get(t.Context(), fmt.Sprintf("sh.helm.release.v1.app.v%d", version), metav1.GetOptions{})
		must(t, err)
		plain, err := base64.StdEncoding.DecodeString(string(secret.Data["release"]))
		must(t, err)
		unzipped, err := gzip.NewReader(bytes.NewReader(plain))
		must(t, err)
		raw, err := io.ReadAll(unzipped)
		must(t, err)
		path := fmt.Sprintf("../../internal/helm/storage/testdata/helm4/v%d.json", version)
		if stored, err := os.ReadFile(path); err == nil && !*rewrite {
			var was record
			must(t, json.Unmarshal(stored, &was))
			if is, was := masked(raw), masked(was.Release); !bytes.Equal(is, was) {
				t.Errorf("%s differs in more than times; go test -args -rewrite writes it:\n%s\n%s", path, was, is)
			}
			continue
		}
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		golden(t, path, record{secret.Labels, raw})
	}
}

// masked returns compact JSON without its times.
func masked(raw []byte) []byte {
	var buf bytes.Buffer
	_ = json.Compact(&buf, raw)
	return regexp.MustCompile(`"20\d\d-[^"]*[Z0-9]"`).ReplaceAll(buf.Bytes(), []byte(`"time"`))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
