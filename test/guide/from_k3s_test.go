// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package guide

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/storage/driver"
	"helm.sh/helm/v3/pkg/strvals"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	cattlev1 "github.com/pintle-dev/pintle/api/cattle/v1"
	"github.com/pintle-dev/pintle/test/harness"
)

// k3sCharts are a HelmChart with a repository, and one with a chart in a registry. The Job controller of
// the cluster leaves their Jobs alone: k3s' controller has the annotation for tests.
const k3sCharts = `
apiVersion: helm.cattle.io/v1
kind: HelmChart
metadata: {name: web, namespace: apps, annotations: {helmcharts.helm.cattle.io/job-manager: pintle.dev/test}}
spec: {chart: hello, repo: REPOSITORY, version: 0.1.0, valuesContent: "message: one", set: {replicas: 1}}
---
apiVersion: helm.cattle.io/v1
kind: HelmChart
metadata: {name: oci, namespace: apps, annotations: {helmcharts.helm.cattle.io/job-manager: pintle.dev/test}}
spec: {chart: "oci://REGISTRY/apps/hello", version: 0.1.0, plainHTTP: true}
`

// TestFromK3s: the commands of docs/from-k3s.md take a HelmChart over from k3s' real controller, and give
// it back. No revision is created. Whoever has the HelmChart when it is deleted uninstalls it, once.
func TestFromK3s(t *testing.T) {
	path := os.Getenv("PINTLE_K3S")
	if path == "" {
		t.Skip("make test-neighbours builds k3s' controller and sets PINTLE_K3S")
	}
	w := newK3sWorld(t, path)
	p := readPage(t, "from-k3s.md")
	before := w.records("web")
	w.record()
	w.has(w.replay(p, "Take one over"), "helm-install-web", "condition met", "web")
	w.same("web", before, "after the take-over")
	w.run(`kubectl annotate helmchart oci --namespace apps --overwrite helmcharts.cattle.io/managed-by=pintle
	kubectl wait helmchart oci --namespace apps --for=condition=Ready --timeout=1h`)
	if revisions := w.records("oci"); len(revisions) != 1 {
		t.Errorf("the chart from the registry has %v", revisions)
	}

	w.replay(p, "Go back")
	p.ended(t, 0)
	w.run(`kubectl wait helmrelease web --namespace apps --for=delete --timeout=1h`)
	w.until("k3s' controller to have web", func() bool {
		return strings.Contains(w.run("kubectl get helmchart web --namespace apps -o jsonpath='{.metadata.finalizers}'"), cattlev1.FinalizerK3s)
	})
	w.same("web", before, "after the way back")

	w.run("kubectl delete helmchart web oci --namespace apps --timeout=1h")
	w.until("both releases to be uninstalled", func() bool { return len(w.records("web"))+len(w.records("oci")) == 0 })
	w.until("the HelmRelease and the accounts to go", func() bool {
		return !strings.Contains(w.run("kubectl get helmreleases,serviceaccounts --namespace apps -o name --ignore-not-found | grep -v /default || true"), "/")
	})
	if ran := w.jobs.all(); !slices.Equal(ran, []string{"helm-install-oci", "helm-install-web", "helm-delete-web"}) && !slices.Equal(ran, []string{"helm-install-web", "helm-install-oci", "helm-delete-web"}) {
		t.Errorf("k3s' controller has run %v", ran)
	}
}

// k3sWorld is a cluster with k3s' controller, whose Jobs the test runs, and Pintle.
type k3sWorld struct {
	*shell

	jobs *k3sJobs
}

func newK3sWorld(t *testing.T, path string) *k3sWorld {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	if env == nil {
		var err error
		if env, err = harness.Start(ctx, harness.Options{Dir: filepath.Join(dir, "env"), ClusterBin: os.Getenv("PINTLE_CLUSTER_BIN")}); err != nil {
			t.Fatal(err)
		}
	}
	w := &k3sWorld{shell: newShell(t, env.Kubeconfig)}
	charts, err := harness.StartHelmRepository(ctx)
	w.must(err)
	t.Cleanup(func() { w.must(charts.Close()) })
	archive, err := harness.HelloChart("0.1.0")
	w.must(errors.Join(err, charts.Add("apps", archive), env.Registry.PushChart(ctx, "apps", archive)))
	w.run("kubectl create namespace apps")
	t.Cleanup(func() {
		w.must(client.IgnoreNotFound(env.Client.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "apps"}})))
	})
	w.jobs = startK3sJobs(w.shell, archive)
	variables := append(os.Environ(), "KUBECONFIG="+env.Kubeconfig)
	w.process("k3s", path, variables, "--kubeconfig="+env.Kubeconfig)
	w.until("the CRDs", func() bool {
		return strings.Count(w.run("kubectl get crds -o name"), ".helm.cattle.io") == 2
	})
	w.run("kubectl wait crd helmcharts.helm.cattle.io --for=condition=Established --timeout=1h")
	w.must(os.WriteFile(filepath.Join(w.dir, "charts.yaml"), []byte(strings.NewReplacer("REPOSITORY", charts.URL("apps"), "REGISTRY", env.Registry.Address).Replace(k3sCharts)), 0o600))
	w.run("kubectl apply -f charts.yaml")
	w.until("the releases of k3s", func() bool { return len(w.records("web"))+len(w.records("oci")) == 2 })
	w.until("the Jobs to be complete", func() bool {
		return strings.Count(w.run("kubectl get jobs --namespace apps -o jsonpath='{.items[*].status.completionTime}'"), "T") == 2
	})
	w.process("pintle", os.Getenv("PINTLE_CONTROLLER"), variables, "--feature-gates=HelmChartAPI=true", "--metrics-addr=0", "--health-addr=0")
	return w
}

// process runs a program until the end of the test.
func (w *k3sWorld) process(name, path string, variables []string, args ...string) {
	w.Helper()
	c := harness.NewController(path, args, variables, filepath.Join(dir, name+".log"))
	w.must(c.Start())
	w.Cleanup(func() {
		if w.Failed() {
			w.Logf("the log of %s ends:\n%s", name, c.LogTail(40))
		}
		w.must(c.Stop(context.WithoutCancel(w.Context())))
	})
}

func (w *k3sWorld) until(what string, done func() bool) {
	w.Helper()
	w.must(env.Until(w.Context(), what, func() (string, bool) { return "", done() }))
}

// records returns the records of a release with their versions.
func (w *k3sWorld) records(name string) (all []string) {
	w.Helper()
	secrets := &corev1.SecretList{}
	w.must(env.Client.List(w.Context(), secrets, client.InNamespace("apps"), client.MatchingLabels{"owner": "helm", "name": name}))
	for _, o := range secrets.Items {
		all = append(all, fmt.Sprintf("%s %s %s %s", o.Name, o.Labels["status"], o.Labels[cattlev1.LabelConfigHash], o.ResourceVersion))
	}
	return all
}

func (w *k3sWorld) same(name string, before []string, when string) {
	w.Helper()
	if now := w.records(name); !slices.Equal(now, before) {
		w.Errorf("%s there is %v, before there was %v", when, now, before)
	}
}

// k3sJobs runs the Jobs of k3s' controller as its image does: Helm with the arguments, the environment
// and the values of the Pod.
type k3sJobs struct {
	*shell

	archive []byte
	mu      sync.Mutex
	ran     []string
}

func startK3sJobs(s *shell, archive []byte) *k3sJobs {
	s.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(s.Context()))
	j, done := &k3sJobs{shell: s, archive: archive}, make(chan struct{})
	jobs, err := env.Client.Watch(ctx, &batchv1.JobList{}, client.InNamespace("apps"))
	s.must(err)
	go func() {
		defer close(done)
		for e := range jobs.ResultChan() {
			job, is := e.Object.(*batchv1.Job)
			if !is || !job.DeletionTimestamp.IsZero() {
				continue
			}
			if err := client.IgnoreNotFound(j.step(ctx, job)); err != nil && ctx.Err() == nil {
				s.Errorf("Job %s: %v", job.Name, err)
			}
		}
	}()
	s.Cleanup(func() {
		cancel()
		jobs.Stop()
		<-done
	})
	return j
}

func (j *k3sJobs) all() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.ran)
}

// step observes a suspended Job, and runs a Job that is not suspended.
func (j *k3sJobs) step(ctx context.Context, job *batchv1.Job) error {
	is := func(kind batchv1.JobConditionType) bool {
		return slices.ContainsFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool { return c.Type == kind && c.Status == corev1.ConditionTrue })
	}
	now := metav1.Now().Rfc3339Copy()
	set := func(kinds ...batchv1.JobConditionType) {
		for _, kind := range kinds {
			job.Status.Conditions = append(job.Status.Conditions, batchv1.JobCondition{Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: now})
		}
	}
	suspended := job.Spec.Suspend != nil && *job.Spec.Suspend
	switch {
	case is(batchv1.JobComplete) || suspended && is(batchv1.JobSuspended):
		return nil
	case suspended:
		set(batchv1.JobSuspended)
		return env.Client.Status().Update(ctx, job)
	}
	if err := j.helm(ctx, job); err != nil {
		return err
	}
	j.mu.Lock()
	j.ran = append(j.ran, job.Name)
	j.mu.Unlock()
	job.Status.Conditions = nil
	job.Status.StartTime, job.Status.CompletionTime, job.Status.Succeeded = &now, &now, 1
	set(batchv1.JobSuccessCriteriaMet, batchv1.JobComplete)
	return env.Client.Status().Update(ctx, job)
}

// helm runs the action of a Job.
func (j *k3sJobs) helm(ctx context.Context, job *batchv1.Job) error {
	pod, variables := job.Spec.Template.Spec.Containers[0], map[string]string{}
	for _, v := range pod.Env {
		variables[v.Name] = v.Value
	}
	name, namespace := variables["NAME"], variables["TARGET_NAMESPACE"]
	config, err := env.Helm(namespace)
	if err != nil {
		return err
	}
	if pod.Args[0] == "delete" {
		_, err := action.NewUninstall(config).Run(name)
		if errors.Is(err, driver.ErrReleaseNotFound) {
			err = nil
		}
		return err
	}
	given, secret := chartutil.Values{}, &corev1.Secret{}
	if err := env.Client.Get(ctx, types.NamespacedName{Namespace: job.Namespace, Name: "chart-values-" + name}, secret); err != nil {
		return err
	}
	for _, key := range []string{"HelmChartValuesContent", "HelmChartValues"} {
		layer := map[string]any{}
		if err := yaml.Unmarshal(secret.Data[key], &layer); err != nil {
			return err
		}
		given = chartutil.CoalesceTables(layer, given)
	}
	for i, arg := range pod.Args[:len(pod.Args)-1] {
		switch arg {
		case "--set":
			err = errors.Join(err, strvals.ParseInto(pod.Args[i+1], given))
		case "--set-string":
			err = errors.Join(err, strvals.ParseIntoString(pod.Args[i+1], given))
		}
	}
	chart, loadErr := loader.LoadArchive(bytes.NewReader(j.archive))
	if err = errors.Join(err, loadErr); err != nil {
		return err
	}
	labels := map[string]string{cattlev1.LabelConfigHash: variables["CONFIG_HASH"]}
	if variables["EXPECTED_RELEASE_REVISION"] != "0" {
		upgrade := action.NewUpgrade(config)
		upgrade.Namespace, upgrade.Labels = namespace, labels
		_, err = upgrade.RunWithContext(ctx, name, chart, given)
		return err
	}
	install := action.NewInstall(config)
	install.ReleaseName, install.Namespace, install.Labels = name, namespace, labels
	_, err = install.RunWithContext(ctx, chart, given)
	return err
}

// record writes what k3s' controller leaves for web, for test/integration.
func (w *k3sWorld) record() {
	w.Helper()
	if !*rewrite {
		return
	}
	left := w.run(`kubectl get -o yaml --namespace apps helmcharts/web jobs/helm-install-web serviceaccounts/helm-web \
	  secrets/chart-values-web secrets/sh.helm.release.v1.web.v1 configmaps/chart-content-web clusterrolebindings/helm-apps-web`)
	path := filepath.Join(harness.Root(), "test", "integration", "testdata", "k3s.yaml")
	w.must(os.WriteFile(path, []byte("# Written by TestFromK3s of test/guide with -rewrite: what k3s' helm-controller leaves.\n"+left), 0o644))
}
