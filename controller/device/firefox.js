// Preferences of the profile in which Firefox is measured: nothing that asks the user, scales, or
// talks to anybody but the page's own servers.

// What asks the user, or shows more than the page.
user_pref("browser.aboutwelcome.enabled", false);
user_pref("browser.shell.checkDefaultBrowser", false);
user_pref("browser.startup.homepage_override.mstone", "ignore");
user_pref("browser.startup.page", 0);
user_pref("browser.translations.enable", false);
user_pref("browser.contentblocking.introCount", 20);
user_pref("browser.uitour.enabled", false);
user_pref("datareporting.policy.dataSubmissionPolicyBypassNotification", true);
user_pref("full-screen-api.warning.timeout", 0);
user_pref("termsofuse.bypassNotification", true);
user_pref("layout.css.devPixelsPerPx", "1.0");
user_pref("browser.urlbar.maxRichResults", 0);
user_pref("browser.urlbar.trimURLs", false);

// Who is driven by WebDriver BiDi is measured with these preferences, and not with those that are
// recommended for tests of pages.
user_pref("remote.prefs.recommended", false);

// The page for new tabs, which is made in advance, with what it loads and advertises.
user_pref("browser.newtabpage.enabled", false);
user_pref("browser.newtab.preload", false);
user_pref("browser.newtabpage.activity-stream.discoverystream.enabled", false);
user_pref("browser.newtabpage.activity-stream.feeds.section.topstories", false);
user_pref("browser.newtabpage.activity-stream.feeds.system.topstories", false);
user_pref("browser.newtabpage.activity-stream.feeds.topsites", false);
user_pref("browser.newtabpage.activity-stream.feeds.telemetry", false);
user_pref("browser.newtabpage.activity-stream.feeds.weatherfeed", false);
user_pref("browser.newtabpage.activity-stream.showSponsored", false);
user_pref("browser.newtabpage.activity-stream.showSponsoredTopSites", false);
user_pref("browser.newtabpage.activity-stream.telemetry", false);
user_pref("browser.newtabpage.activity-stream.unifiedAds.adsFeed.enabled", false);
user_pref("browser.newtabpage.activity-stream.unifiedAds.spocs.enabled", false);
user_pref("browser.newtabpage.activity-stream.unifiedAds.tiles.enabled", false);
user_pref("browser.topsites.contile.enabled", false);

// Reports of use, experiments, and settings that come from afar. The last needs
// MOZ_REMOTE_SETTINGS_DEVTOOLS in the environment.
user_pref("app.normandy.enabled", false);
user_pref("app.shield.optoutstudies.enabled", false);
user_pref("browser.discovery.enabled", false);
user_pref("browser.ping-centre.telemetry", false);
user_pref("datareporting.healthreport.uploadEnabled", false);
user_pref("datareporting.policy.dataSubmissionEnabled", false);
user_pref("datareporting.usage.uploadEnabled", false);
user_pref("messaging-system.rsexperimentloader.enabled", false);
user_pref("nimbus.rollouts.enabled", false);
user_pref("toolkit.telemetry.archive.enabled", false);
user_pref("toolkit.telemetry.enabled", false);
user_pref("toolkit.telemetry.server", "data:,");
user_pref("toolkit.telemetry.unified", false);
user_pref("services.settings.server", "data:,#remote-settings-dummy/v1");

// Updates of the program, its parts, and its lists.
user_pref("app.update.auto", false);
user_pref("app.update.enabled", false);
user_pref("browser.safebrowsing.blockedURIs.enabled", false);
user_pref("browser.safebrowsing.downloads.enabled", false);
user_pref("browser.safebrowsing.malware.enabled", false);
user_pref("browser.safebrowsing.phishing.enabled", false);
user_pref("browser.safebrowsing.update.enabled", false);
user_pref("browser.search.update", false);
user_pref("extensions.blocklist.enabled", false);
user_pref("extensions.getAddons.cache.enabled", false);
user_pref("extensions.systemAddon.update.enabled", false);
user_pref("extensions.systemAddon.update.url", "");
user_pref("extensions.update.enabled", false);
user_pref("media.gmp-manager.updateEnabled", false);
user_pref("media.gmp-manager.url", "data:,");
user_pref("security.remote_settings.crlite_filters.enabled", false);
user_pref("security.remote_settings.intermediates.enabled", false);

// Whoever wants to know where the network is, and what it can do.
user_pref("browser.region.network.url", "");
user_pref("browser.region.update.enabled", false);
user_pref("doh-rollout.disable-heuristics", true);
user_pref("network.captive-portal-service.enabled", false);
user_pref("network.connectivity-service.enabled", false);
user_pref("network.trr.mode", 5);

// Messages from afar, and guesses at what the user may want next.
user_pref("browser.search.suggest.enabled", false);
user_pref("browser.urlbar.quicksuggest.enabled", false);
user_pref("browser.urlbar.speculativeConnect.enabled", false);
user_pref("browser.urlbar.suggest.searches", false);
user_pref("dom.push.connection.enabled", false);
user_pref("identity.fxaccounts.enabled", false);
user_pref("network.predictor.enabled", false);
user_pref("network.prefetch-next", false);
