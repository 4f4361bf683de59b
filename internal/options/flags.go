// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package options

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/pflag"
)

// ownFlag ends the help of a flag that helm-controller does not have. docs/flags.md lists those
// flags separately.
const ownFlag = " Not a flag of helm-controller."

// Parse parses arguments, without the program name, and the environment. It returns all invalid
// values as one joined error. For --help it writes the help to out and returns pflag.ErrHelp.
func Parse(args []string, out io.Writer) (*Options, error) {
	o := &Options{
		RuntimeNamespace: os.Getenv("RUNTIME_NAMESPACE"),
		SourceController: os.Getenv("SOURCE_CONTROLLER_LOCALHOST"),
		SourceWatcher:    os.Getenv("SOURCE_WATCHER_LOCALHOST"),
	}
	fs := o.flags()
	fs.Usage = func() { _, _ = io.WriteString(out, fs.FlagUsages()) }
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	if fs.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q", fs.Arg(0))
	}
	return o, o.validate()
}

// flags returns the flags, bound to o. It sets their defaults.
func (o *Options) flags() *pflag.FlagSet {
	fs := pflag.NewFlagSet("pintle", pflag.ContinueOnError)
	o.Log.BindFlags(fs)
	o.Client.BindFlags(fs)
	o.Kubeconfig.BindFlags(fs)
	o.ACL.BindFlags(fs)
	o.LeaderElection.BindFlags(fs)
	o.IntervalJitter.BindFlags(fs)
	// These flags have another meaning than in the library.
	fs.Lookup("kube-api-qps").Usage = "Maximum queries per second to the Kubernetes API, for each release. " +
		"The controller itself has no limit if API Priority and Fairness is enabled."
	fs.Lookup("kube-api-burst").Usage = "Maximum burst of queries to the Kubernetes API, for each release."

	o.bindServers(fs)
	o.bindWork(fs)
	o.bindArtifacts(fs)
	o.bindWatches(fs)
	o.bindIdentities(fs)
	o.bindOperations(fs)
	o.bindHelmCharts(fs)
	o.bindMemory(fs)
	o.bindSwitch(fs)
	fs.BoolVar(&o.Version, "version", false, "Print the version, and exit."+ownFlag)
	fs.Var(&o.Gates, "feature-gates", "Comma-separated list of `Name=bool`.")
	return fs
}

func (o *Options) bindServers(fs *pflag.FlagSet) {
	fs.StringVar(&o.MetricsAddr, "metrics-addr", ":8080", "Address of the metrics endpoint. 0 disables it.")
	fs.StringVar(&o.HealthAddr, "health-addr", ":9440", "Address of the health endpoint. 0 disables it.")
	fs.StringVar(&o.EventsAddr, "events-addr", "", "`URL` that events are posted to, such as that of notification-controller. Empty posts none.")
	fs.BoolVar(&o.EnablePprof, "enable-pprof", false, "Serve pprof profiles at /debug/pprof/ of the metrics endpoint."+ownFlag)
	o.bindUI(fs)
}

func (o *Options) bindUI(fs *pflag.FlagSet) {
	fs.StringVar(&o.UI.Address, "ui-addr", "", "Address of the web page, such as :9443 or 127.0.0.1:9443. Empty serves none."+ownFlag)
	fs.StringVar(&o.UI.CertFile, "ui-tls-cert-file", "", "File with the certificate of the web page. Required unless --ui-addr is a loopback address."+ownFlag)
	fs.StringVar(&o.UI.KeyFile, "ui-tls-key-file", "", "File with the private key of the web page."+ownFlag)
	fs.StringVar(&o.UI.AnonymousUser, "ui-anonymous-user", "", "User whose rights a visitor of the web page has without a token. Empty requires a token."+ownFlag)
}

func (o *Options) bindWork(fs *pflag.FlagSet) {
	fs.IntVar(&o.Concurrent, "concurrent", 4, "Maximum number of concurrent reconciliations of HelmReleases, and of Helm actions.")
	fs.DurationVar(&o.GracefulShutdown, "graceful-shutdown-timeout", 600*time.Second, "Time that running actions have to end at shutdown.")
	fs.DurationVar(&o.MinRetryDelay, "min-retry-delay", 750*time.Millisecond, "Delay before the first retry.")
	fs.DurationVar(&o.MaxRetryDelay, "max-retry-delay", 15*time.Minute, "Maximum delay before a retry.")
	fs.DurationVar(&o.RequeueDependency, "requeue-dependency", 30*time.Second,
		"Interval at which dependencies that are not ready are checked. Most of their changes trigger a reconciliation earlier.")
	fs.StringVar(&o.DryRunDenials, "dry-run-denials", "Try",
		"What follows if a dry run denies an object for a reason that may depend on other objects of the same install or upgrade: "+
			"Try refuses the first attempt only, and Refuse refuses each attempt."+ownFlag)
	fs.StringVar(&o.SnapshotDigestAlgo, "snapshot-digest-algo", "sha256",
		"Algorithm of the digests in history. Only sha256 is valid. Digests of other algorithms that helm-controller recorded are verified.")
	fs.StringArrayVar(&o.OverrideManagers, "override-manager", nil, "Field manager whose fields are taken over where drift detection is enabled. Can be repeated.")
}

func (o *Options) bindArtifacts(fs *pflag.FlagSet) {
	fs.DurationVar(&o.HTTPTimeout, "http-timeout", 30*time.Second, "Timeout of the download of an artifact, retries included.")
	fs.IntVar(&o.HTTPRetry, "http-retry", 9, "Maximum number of retries of the download of an artifact, if the server cannot be reached or fails.")
	fs.Int64Var(&o.ArtifactMaxBytes, "artifact-max-bytes", 100<<20, "Maximum size of an artifact, in bytes."+ownFlag)
	fs.Int64Var(&o.ArtifactCacheBytes, "artifact-cache-bytes", 64<<20,
		"Size of the in-memory cache of artifacts, in bytes. 0 disables it."+ownFlag)
}

func (o *Options) bindWatches(fs *pflag.FlagSet) {
	fs.BoolVar(&o.WatchAllNamespaces, "watch-all-namespaces", true, "Watch all namespaces. If false, only RUNTIME_NAMESPACE.")
	fs.StringVar(&o.WatchLabels, "watch-label-selector", "",
		"Label `selector` of the HelmReleases to reconcile, such as sharding.fluxcd.io/key=shard1. Empty selects all.")
	fs.StringVar(&o.WatchConfigs, "watch-configs-label-selector", "reconcile.fluxcd.io/watch=Enabled",
		"Label `selector` of the ConfigMaps and Secrets whose changes trigger a reconciliation. Empty selects all.")
}

func (o *Options) bindIdentities(fs *pflag.FlagSet) {
	fs.StringVar(&o.DefaultServiceAccount, "default-service-account", "",
		"ServiceAccount to impersonate for HelmReleases that name none. If empty, Helm acts as the controller.")
	fs.StringVar(&o.DefaultKubeconfigServiceAccount, "default-kubeconfig-service-account", "",
		"ServiceAccount whose tokens authenticate to other clusters, for ConfigMaps that name none. Needs the feature gate ObjectLevelWorkloadIdentity.")
	fs.IntVar(&o.TokenCacheMaxSize, "token-cache-max-size", tokenCacheSize, "0 disables the cache of tokens for other clusters. Otherwise it holds one token for each cluster.")
	fs.DurationVar(&o.TokenCacheMaxDuration, "token-cache-max-duration", tokenCacheDuration, "Maximum age of a cached token. At most four fifths of its lifetime.")
}

func (o *Options) bindOperations(fs *pflag.FlagSet) {
	fs.DurationVar(&o.OperationTimeout, "operation-timeout", time.Hour, "Maximum time that an Operation waits, and that each of its Jobs runs."+ownFlag)
	fs.DurationVar(&o.OperationCleanupTimeout, "operation-cleanup-timeout", time.Hour, "Maximum time that a deleted Operation waits until its objects in another namespace or cluster are deleted."+ownFlag)
	fs.StringVar(&o.ClusterID, "cluster-id", "", "Value of the label app.vworkspace.io/cluster-id of objects that are created for Operations. Empty adds no label."+ownFlag)
}

func (o *Options) bindHelmCharts(fs *pflag.FlagSet) {
	fs.StringVar(&o.HelmChartReinstall, "helmchart-reinstall", ReinstallProtect,
		"What follows a failure with failurePolicy reinstall of a HelmChart: protect does not uninstall a release that holds PersistentVolumeClaims, "+
			"as-k3s does. Needs the feature gate HelmChartAPI."+ownFlag)
	fs.StringArrayVar(&o.HelmChartArchiveCIDRs, "helmchart-archive-cidr", nil,
		"Range of addresses, such as 10.1.0.0/16, that archives by URL in HelmCharts may have beside public ones. Can be repeated. Needs the feature gate HelmChartAPI."+ownFlag)
}

func (o *Options) bindSwitch(fs *pflag.FlagSet) {
	fs.BoolVar(&o.AllowSecondController, "allow-second-controller", false,
		"Lead also while a Lease of the same name is renewed in another namespace. Two controllers then work on the same releases, "+
			"unless they watch different ones."+ownFlag)
	fs.BoolVar(&o.Observe, "observe", false,
		"Only report what would be done to each release, by metric, log and event. Nothing else is written, and no Lease is needed."+ownFlag)
}

func (o *Options) bindMemory(fs *pflag.FlagSet) {
	fs.IntVar(&o.Memory.Threshold, "oom-watch-memory-threshold", 95,
		"Percentage of the memory limit that triggers a graceful shutdown. Needs the feature gate OOMWatch.")
	fs.DurationVar(&o.Memory.Interval, "oom-watch-interval", 500*time.Millisecond, "Time between checks of the memory usage.")
	fs.StringVar(&o.Memory.MaxPath, "oom-watch-max-memory-path", "", "File with the memory limit in bytes. If empty, that of the cgroup.")
	fs.StringVar(&o.Memory.CurrentPath, "oom-watch-current-memory-path", "", "File with the memory usage in bytes. If empty, that of the cgroup.")
}
